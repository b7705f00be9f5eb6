//! The blocks engine: what a kernel sees, and what it is told when it errs.

use vmafx_hipsim::blocks::{Error, Options, Order, POISON};

use crate::probe::{Args, kernels};

const ORDERS: [Order; 4] = [
    Order::Forward,
    Order::Reverse,
    Order::Alternating,
    Order::Shuffled(5),
];

fn run(name: &str, grid: [u32; 3], args: &Args, order: Order, workers: u32) -> Result<(), Error> {
    let options = Options {
        order,
        workers,
        ..Options::default()
    };
    kernels().launch(name, grid, args.bytes(), &options)
}

fn to(out: &mut [u32]) -> Args {
    Args {
        to: out.as_mut_ptr() as u64,
        ..Args::default()
    }
}

#[test]
fn every_thread_of_every_block_runs_once_where_it_says_it_is() {
    for order in ORDERS {
        for workers in [1, 3] {
            let mut out = vec![u32::MAX; 5 * 3 * 2 * 32 * 4];
            let args = Args {
                count: 5,
                at: 3,
                ..to(&mut out)
            };
            run("probe_where", [5, 3, 2], &args, order, workers).unwrap();
            for (i, found) in out.chunks(4).enumerate() {
                let (block, thread) = (i as u32 / 32, i as u32 % 32);
                let expected = [block % 5, block / 5 % 3, block / 15, thread];
                assert_eq!(found, expected, "{order:?}, {workers} workers");
            }
        }
    }
}

#[test]
fn a_barrier_orders_shared_memory_and_a_missing_one_shows() {
    let sum = (0..256).sum::<u32>();
    let missing = |order, count| {
        let mut out = [0; 2];
        let mut args = Args {
            count,
            ..to(&mut out)
        };
        run("probe_sum", [2, 1, 1], &args, order, 1).unwrap();
        assert_eq!(out, [sum; 2], "{order:?}");
        args.at = 1;
        run("probe_sum", [2, 1, 1], &args, order, 1).unwrap();
        out.iter().filter(|&&found| found != sum).count()
    };
    // A reader that comes last sees all of it by luck; the order that alternates shows it in one
    // of two blocks, whichever thread reads.
    assert_eq!(missing(Order::Forward, 0), 2);
    assert_eq!(missing(Order::Forward, 255), 0);
    assert_eq!(missing(Order::Reverse, 255), 2);
    for count in [0, 255] {
        assert_eq!(missing(Order::Alternating, count), 1);
    }
    assert_eq!(missing(Order::Shuffled(1), 77), 2);
}

#[test]
fn threads_that_ended_hold_no_barrier_up() {
    let mut out = [9; 128];
    let args = Args {
        count: 64,
        ..to(&mut out)
    };
    run("probe_early", [1, 1, 1], &args, Order::Forward, 1).unwrap();
    let (first, second): (u32, u32) = ((0..32).sum(), (32..64).sum());
    let mut expected = [9; 128];
    expected[..32].fill(first);
    expected[32..64].fill(second);
    assert_eq!(out, expected);
}

#[test]
fn an_exchange_without_its_partner_is_told() {
    let mut out = [0; 128];
    // Lane 8 of the second group ended.
    let args = Args {
        count: 40,
        ..to(&mut out)
    };
    let error = run("probe_early", [1, 1, 1], &args, Order::Forward, 1).unwrap_err();
    assert!(matches!(&error, Error::Stuck { thread: 32, .. }), "{error}");
    // Lane 5 waits at the barrier.
    let args = Args {
        at: 5,
        ..to(&mut out)
    };
    let error = run("probe_stuck", [1, 1, 1], &args, Order::Reverse, 1).unwrap_err();
    assert!(matches!(&error, Error::Stuck { thread: 0, .. }), "{error}");
    assert_eq!(out[32..64], [32; 32], "the other group went on");
    // And the engine still works.
    every_thread_of_every_block_runs_once_where_it_says_it_is();
}

#[test]
fn shared_memory_is_poisoned_before_each_block() {
    let mut out = [0; 64];
    let args = to(&mut out);
    run("probe_shared", [3, 1, 1], &args, Order::Forward, 1).unwrap();
    assert_eq!(out, [u32::from_ne_bytes([POISON; 4]); 64]);
    let options = Options {
        poison_shared: false,
        ..Options::default()
    };
    let bytes = args.bytes();
    kernels()
        .launch("probe_shared", [3, 1, 1], bytes, &options)
        .unwrap();
    assert_eq!(out, [7; 64], "what the block before left");
}

#[test]
fn a_bad_access_names_the_thread_and_the_process_lives() {
    let args = Args {
        to: 0x10,
        ..Args::default()
    };
    for workers in [1, 2] {
        let error = run("probe_fault", [4, 1, 1], &args, Order::Forward, workers).unwrap_err();
        let expected = Error::Fault {
            kernel: "probe_fault".to_owned(),
            block: [1, 0, 0],
            thread: 3,
            address: 0x10,
        };
        assert_eq!(error, expected);
    }
    let mut out = [0; 4];
    let error = run("probe_deep", [1, 1, 1], &to(&mut out), Order::Forward, 1).unwrap_err();
    assert!(matches!(&error, Error::Fault { thread: 0, .. }), "{error}");
    let thread = std::thread::spawn(move || {
        let args = to(&mut out);
        run("probe_deep", [1, 1, 1], &args, Order::Forward, 1).unwrap_err()
    });
    assert!(matches!(thread.join().unwrap(), Error::Fault { .. }));
}

#[test]
fn what_cannot_be_launched_is_refused() {
    let args = Args::default();
    let launch =
        |name, grid, bytes: &[u8]| kernels().launch(name, grid, bytes, &Options::default());
    let error = launch("probe_none", [1; 3], args.bytes()).unwrap_err();
    assert!(matches!(error, Error::NoKernel { .. }));
    let error = launch("probe_add", [1; 3], &args.bytes()[1..]).unwrap_err();
    assert!(matches!(
        error,
        Error::ArgumentSize {
            given: 23,
            taken: 24,
            ..
        }
    ));
    for grid in [[0, 1, 1], [1, 65536, 1], [u32::MAX, 1, 1]] {
        let error = launch("probe_add", grid, args.bytes()).unwrap_err();
        assert!(matches!(error, Error::Grid { .. }));
    }
}

#[test]
fn atomic_sums_do_not_depend_on_the_workers() {
    let mut sum = 0u64;
    let args = Args {
        to: (&raw mut sum) as u64,
        ..Args::default()
    };
    run("probe_count", [700, 1, 1], &args, Order::Alternating, 4).unwrap();
    assert_eq!(sum, 700 * 64);
}
