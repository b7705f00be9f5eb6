//! Several frames in flight on a device: how many, in what order, and what is left of them.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::mpsc;

use vmafx_api::Backend;
use vmafx_engine::{Context, EngineError, OutputFormat, Precision};

use crate::rig::*;

/// Frames that the fake device wants.
const WANTED: usize = 8;

/// A device that computes `probe` and wants frames ahead, and one that computes the rest at once.
fn mixed(traffic: &Arc<Traffic>) -> Vec<Backend> {
    let device = Behaviour {
        refuses: vec![("step", "it only probes")],
        in_flight: Some(WANTED),
        traffic: traffic.clone(),
        priority: 10,
        ..Behaviour::default()
    };
    let at_once = Behaviour {
        traffic: traffic.clone(),
        ..Behaviour::default()
    };
    vec![Fake::named("device", device), Fake::named("fake", at_once)]
}

/// A device that computes everything and wants frames ahead.
fn device(behaviour: Behaviour) -> Vec<Backend> {
    fake(Behaviour {
        in_flight: Some(WANTED),
        ..behaviour
    })
}

fn context(features: &[&str], threads: usize, backends: &[Backend]) -> Context {
    Context::with_backends(format(16, 16, 8), request(features, threads), backends).unwrap()
}

/// Feeds frames while devices take none until `first` are in the queue; then all are taken.
fn feed_behind(traffic: &Traffic, context: &mut Context, first: u64) -> Result<(), EngineError> {
    traffic.hold();
    let (told, fed) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // What is in the queue is decided by the engine, so nobody may wait for more of it.
            let fed = fed.recv_timeout(Traffic::LIMIT);
            traffic.release();
            fed.unwrap();
        });
        feed(context, first)?;
        told.send(()).unwrap();
        feed(context, 30)
    })
}

/// A device that answers only once it has the frames it wants gets them, from one worker and
/// from many; and not more than that and one for each worker that submits.
#[test]
fn a_device_has_the_frames_it_wants_before_it_is_waited_for() {
    for threads in [1, 2, 3, 8, 40] {
        let traffic = Traffic::wanting(WANTED);
        let backends = device(Behaviour {
            traffic: traffic.clone(),
            ..Behaviour::default()
        });
        let mut context = context(&["probe", "step"], threads, &backends);
        let workers = threads.min(WANTED);
        assert_eq!(context.threads(), workers);
        feed_behind(&traffic, &mut context, WANTED as u64).unwrap();
        context.finish().unwrap();
        let counts = traffic.counts();
        assert_eq!((counts.submitted, counts.on_device), (38, 0));
        let most = WANTED - 1 + workers;
        let on_device = counts.most_on_device;
        assert!((WANTED..=most).contains(&on_device), "{on_device} frames");
    }
}

/// The next frames are on the device while the CPU works on the oldest, however many workers
/// there are; the device's memory does not depend on them.
#[test]
fn work_at_once_does_not_hold_a_device() {
    for threads in [1, 2, 3, 8, 40] {
        let traffic = Traffic::wanting(WANTED);
        let mut context = context(&["probe", "step"], threads, &mixed(&traffic));
        assert_eq!(context.threads(), threads);
        feed_behind(&traffic, &mut context, WANTED as u64).unwrap();
        context.finish().unwrap();
        let counts = traffic.counts();
        assert_eq!((counts.submitted, counts.on_device), (38, 0));
        let most = WANTED - 1 + threads.min(WANTED);
        let on_device = counts.most_on_device;
        assert!((WANTED..=most).contains(&on_device), "{on_device} frames");
    }
}

/// Whoever computes a feature, and however many frames are under way.
#[test]
fn reports_do_not_depend_on_frames_in_flight() {
    let run = |backends: &[Backend], threads, step| {
        let mut request = request(&["probe", "step", "probe=g=2"], threads);
        request.subsample = NonZeroU32::new(step).unwrap();
        let mut context = Context::with_backends(format(16, 16, 8), request, backends).unwrap();
        feed(&mut context, 70).unwrap();
        report(
            &context.finish().unwrap(),
            OutputFormat::Csv,
            Precision::Max,
        )
    };
    for step in [1, 3] {
        let serial = run(&fake(Behaviour::default()), 1, step);
        for threads in [1, 2, 5, 16] {
            let jitter = Behaviour {
                jitter: true,
                ..Behaviour::default()
            };
            assert_eq!(run(&device(jitter), threads, step), serial);
            assert_eq!(run(&mixed(&Arc::default()), threads, step), serial);
        }
    }
}

/// However a run ends, every ticket is collected, and the first failure in frame order counts.
#[test]
fn every_ticket_is_collected_whatever_fails() {
    let late = "frame 37: fake:0 failed: device: it was reset (device failure)";
    let early = "frame 37: fake:0 failed: launch: the device was lost (device failure)";
    for threads in [1, 2, 3, 16] {
        for (fails, fails_late, text) in [
            (vec![40, 37, 39], vec![38, 41], early),
            (vec![40, 38, 39], vec![37, 41], late),
        ] {
            let traffic = Arc::<Traffic>::default();
            let backends = device(Behaviour {
                fails,
                fails_late,
                jitter: true,
                traffic: traffic.clone(),
                ..Behaviour::default()
            });
            let mut context = context(&["probe", "step"], threads, &backends);
            let fed = feed(&mut context, 200).unwrap_err();
            let error = context.finish().unwrap_err();
            assert_eq!([fed.to_string(), error.to_string()], [text, text]);
            assert_eq!(traffic.counts().on_device, 0, "{threads} threads");
        }
    }
}

/// A context that is dropped in mid-run takes back what it gave to its devices.
#[test]
fn a_dropped_context_leaves_nothing_on_its_devices() {
    for threads in [1, 4] {
        for both in [false, true] {
            let traffic = Arc::<Traffic>::default();
            let backends = match both {
                true => mixed(&traffic),
                false => device(Behaviour {
                    traffic: traffic.clone(),
                    ..Behaviour::default()
                }),
            };
            let mut context = context(&["probe", "step"], threads, &backends);
            feed(&mut context, 20).unwrap();
            drop(context);
            let counts = traffic.counts();
            assert!(counts.submitted > 0);
            assert_eq!(counts.on_device, 0, "{threads} threads");
        }
    }
}

/// A panic while one frame is submitted ends the run; the device is not called any more.
#[test]
fn a_panic_with_frames_in_flight_is_an_error() {
    for threads in [1, 4] {
        let backends = device(Behaviour {
            panics: Some(21),
            ..Behaviour::default()
        });
        let mut context = context(&["probe", "step"], threads, &backends);
        let _ = feed(&mut context, 60);
        let error = context.finish().unwrap_err();
        assert!(matches!(error, EngineError::Panic { .. }), "{error}");
        assert!(error.to_string().contains("the backend's own bug"));
    }
}

/// Frames are as many as are in flight, with what waits, looks back and is being filled.
#[test]
fn memory_is_bounded_by_the_frames_in_flight() {
    for (threads, in_flight) in [(1, WANTED + 1), (3, WANTED + 4), (20, 2 * WANTED + 1)] {
        for fill_early in [false, true] {
            let backends = device(Behaviour {
                jitter: true,
                ..Behaviour::default()
            });
            let mut context = context(&["probe", "step"], threads, &backends);
            let pool = vmafx_api::FramePool::new(*context.format());
            for _ in 0..300 {
                if !fill_early {
                    context.ready();
                }
                let frame = || pool.acquire().unwrap();
                context.submit(frame(), frame()).unwrap();
            }
            context.finish().unwrap();
            let most = in_flight + 1 + usize::from(fill_early);
            let made = pool.free();
            assert!(made <= 2 * most, "{made} frames, {threads} threads");
        }
    }
}
