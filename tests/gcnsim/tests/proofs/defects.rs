//! Kernels that are wrong, each in one way, and the message of each: kernel and instruction.
//!
//! Addresses and texts of instructions are looked up in the disassembler's listing, not taken from
//! what is checked.

use vmafx_gcnsim::disassembly::Line;
use vmafx_gcnsim::{Error, Fault, Options, Order, Program, mix};

use crate::device::{Arguments, Buffer, launch, same};
use crate::frames;
use crate::toolchain::{Target, image, listing, program};

/// All defects on one target.
pub(crate) fn check(target: Target) -> Result<u64, String> {
    let image = image("defects", target, &[])?;
    let rig = Rig {
        target,
        program: program("defects", target)?,
        listing: listing(&image)?,
    };
    no_barrier(&rig)?;
    rows(&rig)?;
    meetings(&rig)?;
    shared_memory(&rig)?;
    waves(&rig)?;
    endless(&rig)?;
    unknown(target)?;
    contracted(target)?;
    launches(&rig)?;
    another_machine(target)?;
    Ok(0)
}

struct Rig {
    target: Target,
    program: Program,
    listing: String,
}

impl Rig {
    /// The instructions of a kernel whose mnemonic begins with one of these.
    fn lines(&self, kernel: &str, names: &[&str]) -> Vec<Line<'_>> {
        let kernels = &self.program.object().kernels;
        let (start, size) = kernels.iter().find(|k| k.name == kernel).unwrap().code;
        let lines = self.listing.lines().filter_map(Line::parse);
        let within = lines.filter(|line| (start..start + size).contains(&line.address));
        let of = |line: &Line<'_>| names.iter().any(|name| line.text.starts_with(name));
        within.filter(of).collect()
    }

    /// Runs a kernel over one block with an input and an output; returns the output.
    fn run(
        &self,
        kernel: &str,
        threads: u32,
        input: &mut Buffer<u32>,
        out: &mut Buffer<u32>,
        [n, extra]: [u32; 2],
        options: &Options,
    ) -> Result<Vec<u32>, Error> {
        let arguments = Arguments::default()
            .buffer(input)
            .address(0)
            .address(0)
            .buffer(out)
            .number(n)
            .number(extra);
        launch(&self.program, kernel, 1, threads, &arguments, options)?;
        Ok(out.words().to_vec())
    }
}

/// That an error says exactly this.
fn says(error: Result<Vec<u32>, Error>, wanted: &str) -> Result<(), String> {
    match error {
        Err(error) if error.to_string() == wanted => Ok(()),
        Err(error) => Err(format!("`{error}` and not `{wanted}`")),
        Ok(_) => Err(format!("it ran, and does not say `{wanted}`")),
    }
}

fn numbers(count: usize) -> Vec<u32> {
    (0..count as u64).map(|i| mix(i) as u32 >> 8).collect()
}

/// A barrier is missing: told whatever the order of the waves is.
fn no_barrier(rig: &Rig) -> Result<(), String> {
    let values = numbers(256);
    let run = |kernel, order| {
        let (mut input, mut out) = (Buffer::new(&values), Buffer::unwritten(256));
        let options = Options {
            order,
            ..Options::default()
        };
        rig.run(kernel, 256, &mut input, &mut out, [0, 0], &options)
    };
    let writes = rig.lines("no_barrier", &["ds_write", "ds_store"]);
    let reads = rig.lines("no_barrier", &["ds_read", "ds_load"]);
    let (write, read) = (writes[0], reads[reads.len() - 1]);
    for order in [Order::Forward, Order::Reverse, Order::Shuffled(3)] {
        let wanted: Vec<u32> = (0..256).map(|t| values[t] + values[255 - t]).collect();
        let right = run("no_barrier_right", order).map_err(|error| error.to_string())?;
        same("no_barrier_right", &right, &wanted)?;
        let error = run("no_barrier", order);
        let (site, fault) = match &error {
            Err(Error::Fault { site, fault }) => (site, fault),
            other => return Err(format!("no_barrier: {other:?}")),
        };
        let Fault::Race { at, wave, .. } = fault else {
            return Err(format!("no_barrier: {fault}"));
        };
        // The words that meet are those of a thread and of its opposite.
        let writer = at / 4 / u64::from(rig.target.wave());
        let reader = (255 - at / 4) / u64::from(rig.target.wave());
        let (here, there) = match site.address == write.address {
            true => (write, read),
            false => (read, write),
        };
        let pair = [site.wave.into(), u64::from(*wave)];
        if pair != [writer, reader] && pair != [reader, writer] {
            return Err(format!("no_barrier: waves {pair:?} at {at:#x}"));
        }
        let wanted = format!(
            "no_barrier at {:#x} `{}`, block [0, 0, 0], wave {}: no barrier between it and wave \
             {wave} at {:#x} `{}`: both access the word at {at:#x} of LDS, and one writes",
            here.address, here.text, site.wave, there.address, there.text
        );
        says(error, &wanted)?;
    }
    Ok(())
}

/// One row too many is read; the sample before the first one is written.
fn rows(rig: &Rig) -> Result<(), String> {
    let rows = 13;
    let (mut input, mut out) = (Buffer::new(&numbers(64 * rows)), Buffer::unwritten(64));
    let end = input.region().start + 64 * 4 * rows as u64;
    let error = rig.run(
        "row_beyond",
        64,
        &mut input,
        &mut out,
        [rows as u32, 0],
        &Options::default(),
    );
    let site = match &error {
        Err(Error::Fault { site, .. }) => site.address,
        other => return Err(format!("row_beyond: {other:?}")),
    };
    let loads = rig.lines("row_beyond", &["global_load"]);
    let load = loads.iter().find(|line| line.address == site);
    let load = load.ok_or_else(|| format!("row_beyond: no load at {site:#x}"))?;
    says(
        error,
        &format!(
            "row_beyond at {:#x} `{}`, block [0, 0, 0], wave 0: lane 0 reads 4 bytes at {end:#x}, \
             0 bytes behind an allocation of {} bytes",
            load.address,
            load.text,
            64 * 4 * rows
        ),
    )?;
    let start = out.region().start;
    let error = rig.run(
        "row_before",
        64,
        &mut input,
        &mut out,
        [0, 3],
        &Options::default(),
    );
    let store = rig.lines("row_before", &["global_store"])[0];
    says(
        error,
        &format!(
            "row_before at {:#x} `{}`, block [0, 0, 0], wave 0: lane 0 writes 4 bytes at {:#x}, 8 \
             bytes before an allocation of 256 bytes",
            store.address,
            store.text,
            start - 12
        ),
    )
}

/// Blocks that write to the same place, and one that reads what another has written.
fn meetings(rig: &Rig) -> Result<(), String> {
    let stores = |kernel| rig.lines(kernel, &["global_store"])[0];
    let loads = rig.lines("handed_over", &["global_load"]);
    for (kernel, here, there) in [
        ("same_place", stores("same_place"), stores("same_place")),
        ("handed_over", loads[0], stores("handed_over")),
    ] {
        let mut out = Buffer::<u32>::unwritten(64);
        let start = out.region().start;
        let arguments = Arguments::default()
            .address(0)
            .address(0)
            .address(0)
            .buffer(&mut out)
            .number(0)
            .number(0);
        let run = |blocks, exclusive| {
            let options = Options {
                exclusive,
                ..Options::default()
            };
            launch(&rig.program, kernel, blocks, 32, &arguments, &options)
        };
        // One block meets nobody, and two are told on demand.
        for (blocks, exclusive) in [(1, true), (2, false)] {
            run(blocks, exclusive).map_err(|error| error.to_string())?;
        }
        says(
            run(2, true).map(|_| Vec::new()),
            &format!(
                "{kernel} at {:#x} `{}`, block [1, 0, 0], wave 0: wave 0 of block [0, 0, 0] at \
                 {:#x} `{}` accesses the byte at {start:#x} in the same launch, too, one of both \
                 writes, and nothing orders them",
                here.address, here.text, there.address, there.text
            ),
        )?;
    }
    Ok(())
}

/// LDS beyond its end, and LDS that nobody has written.
fn shared_memory(rig: &Rig) -> Result<(), String> {
    let run = |kernel, extra, poison| {
        let (mut input, mut out) = (Buffer::new(&[0]), Buffer::unwritten(64));
        let options = Options {
            order: Order::Forward,
            poison,
            ..Options::default()
        };
        rig.run(kernel, 64, &mut input, &mut out, [0, extra], &options)
    };
    run("shared_beyond", 0, 0xa5).map_err(|error| error.to_string())?;
    let writes = rig.lines("shared_beyond", &["ds_write", "ds_store"]);
    let write = writes[writes.len() - 1];
    let last = 64 / rig.target.wave() - 1;
    says(
        run("shared_beyond", 1, 0xa5),
        &format!(
            "shared_beyond at {:#x} `{}`, block [0, 0, 0], wave {last}: lane {} accesses 4 bytes \
             at 0x100 of LDS, which has 0x100",
            write.address,
            write.text,
            rig.target.wave() - 1
        ),
    )?;
    let poisoned = |poison: u8| {
        let value = u32::from_ne_bytes([poison; 4]);
        (0..64).map(move |t| if t == 63 - 7 { value } else { 63 - t })
    };
    for poison in [0xa5, 0x5a] {
        let found = run("shared_unwritten", 7, poison).map_err(|error| error.to_string())?;
        let wanted: Vec<u32> = poisoned(poison).collect();
        same("shared_unwritten", &found, &wanted)?;
    }
    let right = run("shared_unwritten", 64, 0xa5).map_err(|error| error.to_string())?;
    same(
        "shared_unwritten",
        &right,
        &(0..64).rev().collect::<Vec<_>>(),
    )?;
    Ok(())
}

/// Reductions that hold for one size of waves only: the results differ on the other.
fn waves(rig: &Rig) -> Result<(), String> {
    let values = numbers(64);
    let run = |kernel| {
        let (mut input, mut out) = (Buffer::new(&values), Buffer::unwritten(64));
        rig.run(
            kernel,
            64,
            &mut input,
            &mut out,
            [0, 0],
            &Options::default(),
        )
        .map_err(|error| error.to_string())
    };
    let sum = values.iter().sum::<u32>();
    let votes = values.chunks_exact(32).flat_map(|half| {
        let votes = half.iter().filter(|value| **value & 1 != 0).count() as u32;
        [votes * 1000 + half[0]; 32]
    });
    let cases = [
        ("for_waves_of_64", 64, vec![sum; 64]),
        ("for_waves_of_32", 32, votes.collect()),
    ];
    for (kernel, wave, wanted) in cases {
        let outcome = same(kernel, &run(kernel)?, &wanted);
        match (outcome, rig.target.wave() == wave) {
            (Ok(_), true) => {}
            (Err(reason), false) if reason.starts_with(&format!("{kernel}: [")) => {}
            (outcome, _) => {
                let lanes = rig.target.wave();
                return Err(format!("{kernel} in waves of {lanes}: {outcome:?}"));
            }
        }
    }
    Ok(())
}

/// A wave that would never end is stopped.
fn endless(rig: &Rig) -> Result<(), String> {
    let options = Options {
        most_instructions: 10_000,
        ..Options::default()
    };
    let (mut input, mut out) = (Buffer::new(&[0]), Buffer::unwritten(64));
    let error = rig.run("endless", 64, &mut input, &mut out, [0, 0], &options);
    match &error {
        Err(Error::Fault {
            site,
            fault: Fault::Endless(count),
        }) if site.kernel == "endless" && (10_000..20_000).contains(count) => {}
        other => return Err(format!("endless: {other:?}")),
    }
    let (mut input, mut out) = (Buffer::new(&[1]), Buffer::unwritten(64));
    let ends = rig.run("endless", 64, &mut input, &mut out, [0, 0], &options);
    same(
        "endless",
        &ends.map_err(|error| error.to_string())?,
        &[1; 64],
    )?;
    Ok(())
}

/// Instructions that are not known: the first one's text, and how many there are.
fn unknown(target: Target) -> Result<(), String> {
    let name = match target.generation() {
        9 => "v_mfma_f32_16x16x4",
        _ => "s_sethalt",
    };
    let image = image("unknown", target, &[])?;
    let listing = listing(&image)?;
    let mut lines = listing.lines().filter_map(Line::parse);
    let first = lines.find(|line| line.text.starts_with(name)).unwrap();
    match Program::load(&image) {
        Err(Error::Unknown {
            kernel,
            address,
            text,
            count: 2,
            ..
        }) if kernel == "unknown" && address == first.address && text == first.text => Ok(()),
        other => Err(format!("unknown: {:?}", other.map(|_| "loaded"))),
    }
}

/// With multiplications and additions contracted the filter gives other bits.
fn contracted(target: Target) -> Result<(), String> {
    let image = image("frames", target, &["-ffp-contract=fast"])?;
    let program = Program::load(&image).map_err(|error| error.to_string())?;
    match frames::check(&program, 100, &Options::default()) {
        Err(reason)
            if ["filter9_f32: [", "ratios in f64: ["]
                .iter()
                .any(|start| reason.starts_with(start)) =>
        {
            Ok(())
        }
        other => Err(format!("contracted: {other:?}")),
    }
}

/// The code of one machine under the name of another: its instructions are not known, or the
/// machine differs in what its kernels ask for.
fn another_machine(target: Target) -> Result<(), String> {
    let mut image = image("damage", target, &[])?.to_vec();
    // The lowest byte of `e_flags` is the machine.
    image[48] = match target.generation() {
        9 => MACHINE_GFX1030,
        _ => MACHINE_GFX908,
    };
    match Program::load(&image) {
        Err(Error::Unknown { kernel, .. } | Error::Unmodelled { kernel, .. })
            if kernel == "mixed" =>
        {
            Ok(())
        }
        other => Err(format!("another machine: {:?}", other.map(|_| "loaded"))),
    }
}

/// `EF_AMDGPU_MACH_AMDGCN_GFX908` and `_GFX1030`.
const MACHINE_GFX908: u8 = 0x30;
const MACHINE_GFX1030: u8 = 0x36;

/// Launches that do not fit.
fn launches(rig: &Rig) -> Result<(), String> {
    let (mut input, mut out) = (Buffer::new(&[0]), Buffer::unwritten(64));
    let options = Options::default();
    let mut run =
        |kernel, threads| rig.run(kernel, threads, &mut input, &mut out, [0, 0], &options);
    says(run("absent", 64), "the code object has no kernel `absent`")?;
    let error = run("shared_beyond", 65);
    match &error {
        Err(Error::Launch { kernel, what }) if kernel == "shared_beyond" && what.contains("64") => {
        }
        other => return Err(format!("65 threads: {other:?}")),
    }
    Ok(())
}
