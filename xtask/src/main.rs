//! Every check and generator of this repository. `cargo xtask --help` lists them.

#![forbid(unsafe_code)]

mod abi;
mod bench;
mod bless;
mod ci;
mod codegen;
mod compare;
mod emulate;
mod gcnsim;
mod kernel_tests;
mod kernels;
mod math;
mod memory;
mod models;
mod program;
mod stage;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Any failure of a task; the text is for people.
type Failure = Box<dyn std::error::Error>;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    about = "Checks and generators of the vmafx repository"
)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every check and test, as the build machine does.
    Ci,
    /// Check the house rules that a compiler does not know.
    Tidy,
    /// Rewrite checked-in data from its source.
    Bless {
        /// What to rewrite.
        what: Blessing,
    },
    /// Time the release program, alone, beside another `vmaf` program, or with several threads.
    Bench {
        /// A program that takes the options of Netflix's `vmaf`.
        #[arg(long, value_name = "PATH")]
        peer: Option<PathBuf>,
        /// Time the peer's scalar code, too; it takes minutes.
        #[arg(long, requires = "peer")]
        scalar: bool,
        /// Keep both programs from AVX-512.
        #[arg(long)]
        avx2: bool,
        /// Timed runs of each program.
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
        rounds: u64,
        /// Compare so many threads with one, instead of one with a peer.
        #[arg(long, conflicts_with = "peer", value_parser = clap::value_parser!(u64).range(2..))]
        threads: Option<u64>,
    },
    /// Test the CPU backend on emulated processors.
    Emulate,
    /// Score random clips beside another `vmaf` program's scalar code, digit by digit.
    Compare {
        /// A program that takes the options of Netflix's `vmaf`.
        #[arg(long, value_name = "PATH")]
        peer: PathBuf,
        /// Number of clips.
        #[arg(long, default_value_t = 20)]
        clips: u64,
        /// What makes them; not 0.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
        seed: u64,
    },
    /// Measure peak memory over a short and a long clip, and over large frames.
    Memory {
        /// A program that takes the options of Netflix's `vmaf`.
        #[arg(long, value_name = "PATH")]
        peer: Option<PathBuf>,
        /// Frames of the short clip; the long one has ten times as many.
        #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
        frames: u64,
    },
    /// Check that the plugin interface has only grown since its lock was written.
    Abi {
        /// Append to abi/plugin.lock what is new.
        #[arg(long)]
        bless: bool,
        /// Keep the headers of the current revision in abi/headers; at a release.
        #[arg(long, conflicts_with = "bless")]
        freeze: bool,
    },
    /// Rewrite the headers of the plugin boundary, the asserts of its layout and kernels/args.h.
    Codegen {
        /// Compare with what is checked in, and write nothing.
        #[arg(long)]
        check: bool,
    },
    /// Compile the device code for every target and pack it for the plugins.
    Kernels {
        /// Only these targets: a processor of AMD, a generic one, `sm_80`, `sm_90` or `host`.
        #[arg(long = "target", value_name = "NAME")]
        targets: Vec<String>,
        /// Check what the objects of AMD hold and compare it with kernels/golden.txt.
        #[arg(long)]
        check: bool,
        /// Print registers, memory and instructions of each kernel; checks, too.
        #[arg(long)]
        report: bool,
        /// Check what the objects of AMD hold, without comparing, and write it to
        /// kernels/golden.txt.
        #[arg(long, conflicts_with_all = ["targets", "check"])]
        bless: bool,
    },
    /// Execute the code objects of AMD without the card, and compare what they compute.
    Gcnsim {
        /// Only these processors of AMD.
        #[arg(long = "target", value_name = "NAME", conflicts_with_all = ["all", "sample"])]
        targets: Vec<String>,
        /// Every processor.
        #[arg(long)]
        all: bool,
        /// So many processors of different instruction streams; which, the commit decides.
        #[arg(long, value_name = "N", default_value_t = 3, conflicts_with = "all")]
        #[arg(value_parser = clap::value_parser!(u64).range(1..))]
        sample: u64,
        /// Each processor with inexact estimates and waves in other orders, instead of in one of
        /// these variants by turns.
        #[arg(long)]
        variants: bool,
        /// Rewrite the tables in docs/measurements/amd-targets.md.
        #[arg(long, requires = "all")]
        write: bool,
    },
    /// Run the suites that need a kernel's own fences and buffers, in an emulated machine.
    KernelTests {
        /// Only tests, and other programs, whose names have this in them.
        #[arg(long, value_name = "NAME")]
        filter: Option<String>,
        /// Leave the machine's archive in target/kernel-tests.
        #[arg(long)]
        keep: bool,
    },
    /// Compare the functions of metrics::math with those of the platform's C library.
    Math {
        /// Inputs for each function.
        #[arg(long, default_value_t = 10_000_000)]
        count: u64,
    },
    /// Build the backends as plugins and lay them out under a prefix.
    Stage {
        /// The prefix.
        #[arg(value_name = "DIR")]
        prefix: PathBuf,
        /// Stage GPU backends even if they were built without device code.
        #[arg(long)]
        without_device_code: bool,
    },
    /// Rewrite the built-in models from upstream's JSON files.
    Models {
        /// The `model` folder of a libvmaf source tree.
        #[arg(long, value_name = "DIR")]
        from: PathBuf,
    },
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Blessing {
    /// The golden values of tests/golden.
    Golden,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Ci => ci::run(),
        Task::Tidy => tidy::run(),
        Task::Bless {
            what: Blessing::Golden,
        } => bless::golden(),
        Task::Bench {
            peer,
            scalar,
            avx2,
            rounds,
            threads,
        } => bench::run(&bench::Settings {
            peer: peer.as_deref(),
            scalar,
            avx2,
            rounds: rounds as usize,
            threads: threads.map(|threads| threads as usize),
        }),
        Task::Emulate => emulate::run(),
        Task::Compare { peer, clips, seed } => compare::run(&peer, clips, seed),
        Task::Memory { peer, frames } => memory::run(peer.as_deref(), frames),
        Task::Abi { bless, freeze } => abi::run(match (bless, freeze) {
            (_, true) => abi::Action::Freeze,
            (true, false) => abi::Action::Bless,
            (false, false) => abi::Action::Check,
        }),
        Task::Codegen { check } => codegen::run(check),
        Task::Kernels {
            targets,
            check,
            report,
            bless,
        } => kernels::run(&kernels::Settings {
            targets,
            check,
            report,
            bless,
        }),
        Task::Gcnsim {
            targets,
            all,
            sample,
            variants,
            write,
        } => gcnsim::run(&gcnsim::Settings {
            targets,
            all,
            sample: sample as usize,
            variants,
            write,
        }),
        Task::KernelTests { filter, keep } => {
            kernel_tests::run(&kernel_tests::Settings { filter, keep })
        }
        Task::Math { count } => math::run(count),
        Task::Stage {
            prefix,
            without_device_code,
        } => stage::run(&prefix, without_device_code),
        Task::Models { from } => models::run(&from),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}
