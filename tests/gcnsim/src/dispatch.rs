//! A kernel over a grid: blocks, the turns of their waves, barriers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::code::Code;
use crate::decode::{Family, Saves, Step, When};
use crate::lds::{Lds, Refused};
use crate::meetings::{By, Meetings};
use crate::memory::{Bytes, Memory};
use crate::object::Kernel;
use crate::operations::NONE;
use crate::program::{Counts, Estimates, Options, Order};
use crate::wave::{Kind, Source, State, TTMP, VCC, Wave};
use crate::{Error, Fault, Site, mix};

/// What a wave accesses beside its registers.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) lds: Lds,
    /// Where accesses are noted, if that is asked for.
    meetings: Option<&'a Mutex<Meetings>>,
    grid: [u32; 3],
    waves: u32,
    /// The number of the instruction that runs.
    pub(crate) instruction: u32,
    pub(crate) whole_wave_exchanges: bool,
    lines: &'a [(u64, String)],
    watch: Option<&'a std::ops::Range<u64>>,
    written: Option<u32>,
    ran: Vec<bool>,
}

impl<'a> Context<'a> {
    /// What all accesses of the launch are noted in, to be held for an instruction.
    pub(crate) fn meetings(&self) -> Option<MutexGuard<'a, Meetings>> {
        let lock = |all: &'a Mutex<_>| all.lock().unwrap_or_else(PoisonError::into_inner);
        self.meetings.map(lock)
    }

    /// Looks at an access of a lane before it is done, and notes it.
    #[inline]
    pub(crate) fn access<const W: usize>(
        &mut self,
        meetings: Option<&mut Meetings>,
        wave: &mut Wave<W>,
        lane: usize,
        access: &Bytes,
    ) -> Result<(), Fault> {
        if !self.memory.holds(access, &mut wave.region) {
            return Err(self.memory.fault(access, lane));
        }
        if access.writes() && self.watch.is_some_and(|watch| access.touch(watch)) {
            self.written = Some(self.instruction);
        }
        let Some(meetings) = meetings else {
            return Ok(());
        };
        let by = By {
            wave: wave.of_all,
            instruction: self.instruction,
            how: access.how,
        };
        let region = self.memory.region(wave.region);
        let met = meetings.note(&by, access, wave.region, region);
        met.map_err(|met| {
            let (address, text) = &self.lines[met.instruction as usize];
            let number = u64::from(met.wave);
            Fault::Meeting {
                at: met.at,
                block: place(self.grid, number / u64::from(self.waves)),
                wave: (number % u64::from(self.waves)) as u32,
                address: *address,
                text: text.clone(),
            }
        })
    }

    /// The fault behind a refusal of LDS.
    pub(crate) fn refusal(&self, refused: Refused) -> Fault {
        match refused {
            Refused::Fault(fault) => fault,
            Refused::Met(met) => {
                let (address, text) = &self.lines[met.instruction as usize];
                Fault::Race {
                    at: met.at,
                    wave: met.wave,
                    address: *address,
                    text: text.clone(),
                }
            }
        }
    }
}

/// The place of a block in its grid.
fn place(grid: [u32; 3], number: u64) -> [u32; 3] {
    let [x, y, _] = grid.map(u64::from);
    [number % x, number / x % y, number / (x * y)].map(|n| n as u32)
}

/// What is launched.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) family: Family,
    pub(crate) grid: [u32; 3],
    pub(crate) threads: [u32; 3],
    /// The memory of the kernel, its arguments and its packet included.
    pub(crate) memory: Memory,
    /// Addresses of the arguments and of the packet.
    pub(crate) arguments: u64,
    pub(crate) packet: u64,
    pub(crate) options: &'a Options,
}

impl Request<'_> {
    fn blocks(&self) -> u64 {
        self.grid.iter().map(|side| u64::from(*side)).product()
    }
}

/// What is launched, and the kernel's instructions.
#[derive(Debug)]
pub(crate) struct Launch<'a, const W: usize> {
    pub(crate) request: Request<'a>,
    pub(crate) code: &'a Code<W>,
}

impl<const W: usize> Launch<'_, W> {
    /// Runs all blocks.
    pub(crate) fn run(&self) -> Result<Counts, Error> {
        let blocks = self.request.blocks();
        let workers = u64::from(self.request.options.workers.max(1)).min(blocks);
        let meetings = self.request.options.exclusive.then(Mutex::default);
        let meetings = meetings.as_ref();
        if workers == 1 {
            return self.some(meetings, &AtomicU64::new(0), &AtomicBool::new(false));
        }
        let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let all = Mutex::new(Ok(Counts::default()));
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    let some = self.some(meetings, &next, &stop);
                    let mut all = all.lock().unwrap_or_else(|broken| broken.into_inner());
                    match (&mut *all, some) {
                        (Ok(all), Ok(some)) => all.add(some),
                        (Ok(_), Err(error)) => *all = Err(error),
                        (Err(_), _) => {}
                    }
                });
            }
        });
        all.into_inner()
            .unwrap_or_else(|broken| broken.into_inner())
    }

    /// Runs blocks until none is left, or another worker failed.
    fn some(
        &self,
        meetings: Option<&Mutex<Meetings>>,
        next: &AtomicU64,
        stop: &AtomicBool,
    ) -> Result<Counts, Error> {
        let threads = self.request.threads.iter().product::<u32>();
        let of_block = threads.div_ceil(W as u32);
        let blocks = self.request.blocks();
        let mut waves: Vec<Wave<W>> = (0..of_block)
            .map(|_| Wave::new(self.code.vectors, self.request.kernel.scratch as usize))
            .collect();
        let mut context = Context {
            memory: &self.request.memory,
            lds: Lds::new(self.request.kernel.lds as usize),
            meetings,
            grid: self.request.grid,
            waves: of_block,
            instruction: 0,
            whole_wave_exchanges: self.request.family.gfx9,
            lines: &self.code.lines,
            watch: self.request.options.watch.as_ref(),
            written: None,
            ran: vec![false; self.code.lines.len()],
        };
        let mut counts = Counts::default();
        while !stop.load(Ordering::Relaxed) {
            let taken = next.fetch_add(1, Ordering::Relaxed);
            if taken >= blocks {
                break;
            }
            let number = match self.request.options.order {
                Order::Reverse => blocks - 1 - taken,
                _ => taken,
            };
            let block = place(self.request.grid, number);
            self.start(&mut waves, &mut context.lds, block, number);
            let ended = self.block(&mut waves, &mut context, number);
            counts.blocks += 1;
            for wave in &waves {
                counts.waves += 1;
                counts.instructions += wave.executed;
            }
            if let Err((wave, fault)) = ended {
                stop.store(true, Ordering::Relaxed);
                let (address, text) = &self.code.lines[context.instruction as usize];
                return Err(Error::Fault {
                    site: Box::new(Site {
                        kernel: self.request.kernel.name.clone(),
                        block,
                        wave,
                        address: *address,
                        text: text.clone(),
                    }),
                    fault,
                });
            }
        }
        let line = context.written.map(|at| &self.code.lines[at as usize]);
        counts.written = line.cloned();
        context.ran.pop();
        counts.ran = context.ran;
        Ok(counts)
    }

    /// Sets registers as the hardware does before the first instruction.
    fn start(&self, waves: &mut [Wave<W>], lds: &mut Lds, block: [u32; 3], number: u64) {
        let Options {
            estimates, poison, ..
        } = *self.request.options;
        lds.start(poison);
        let seed = match estimates {
            Estimates::Nearest => 0,
            Estimates::Ulp(seed) | Estimates::Documented(seed) => mix(seed) ^ mix(number),
        };
        let threads = self.request.threads.iter().product::<u32>();
        let count = waves.len() as u32;
        for (at, wave) in waves.iter_mut().enumerate() {
            let first = at as u32 * W as u32;
            wave.start(
                at as u32,
                (threads - first).min(W as u32),
                poison,
                seed,
                &self.code.used,
            );
            wave.estimates = estimates;
            wave.of_all = (number as u32).wrapping_mul(count).wrapping_add(at as u32);
            self.set_scalars(wave, block);
            for lane in 0..W {
                let thread = first + lane as u32;
                let [x, y, _] = self.request.threads;
                let [x, y, z] = [thread % x, thread / x % y, thread / (x * y)];
                if self.request.family.packed_threads {
                    wave.v[0][lane] = x | y << 10 | z << 20;
                } else {
                    (wave.v[0][lane], wave.v[1][lane], wave.v[2][lane]) = (x, y, z);
                }
            }
        }
    }

    /// User registers, then the numbers of the block: `compute_pgm_rsrc2` and the properties of
    /// the kernel say which.
    fn set_scalars(&self, wave: &mut Wave<W>, block: [u32; 3]) {
        let descriptor = self.request.kernel.descriptor;
        let has = |bit: u32| descriptor.properties >> bit & 1 != 0;
        let mut at = 0;
        if has(0) {
            let buffer = [
                0,
                0,
                crate::access::SCRATCH_BUFFER[0],
                crate::access::SCRATCH_BUFFER[1],
            ];
            for (i, word) in buffer.into_iter().enumerate() {
                wave.set_scalar(at + i as u8, word);
            }
            at += 4;
        }
        if has(1) {
            wave.set_scalar_pair(at, self.request.packet);
            at += 2;
        }
        // The queue and the number of the dispatch are refused when a kernel is loaded.
        if has(3) {
            wave.set_scalar_pair(at, self.request.arguments);
            at += 2;
        }
        if has(5) {
            wave.set_scalar_pair(at, 0);
            at += 2;
        }
        if has(6) {
            wave.set_scalar(at, self.request.kernel.scratch as u32);
        }
        let mut at = descriptor.user_registers() as u8;
        if self.request.family.blocks_in_ttmp {
            wave.set_scalar(TTMP + 9, block[0]);
            wave.set_scalar(TTMP + 7, block[1] & 0xffff | block[2] << 16);
            // The block's place in its cluster, of which it is the only one.
            wave.set_scalar(TTMP + 6, 0);
        } else {
            for (bit, number) in [7, 8, 9].into_iter().zip(block) {
                if descriptor.rsrc2 >> bit & 1 != 0 {
                    wave.set_scalar(at, number);
                    at += 1;
                }
            }
            if descriptor.rsrc2 >> 10 & 1 != 0 {
                at += 1;
            }
            // The offset of the wave's scratch, which is all there is.
            if descriptor.rsrc2 & 1 != 0 && has(0) {
                wave.set_scalar(at, 0);
            }
        }
    }

    /// Runs the waves of a block in turns until all have ended. An error comes with the wave's
    /// number.
    fn block(
        &self,
        waves: &mut [Wave<W>],
        context: &mut Context<'_>,
        number: u64,
    ) -> Result<(), (u32, Fault)> {
        let mut turns: Vec<usize> = (0..waves.len()).collect();
        let backwards = match self.request.options.order {
            Order::Reverse => true,
            Order::Alternating => number % 2 == 1,
            Order::Forward | Order::Shuffled(_) => false,
        };
        if backwards {
            turns.reverse();
        }
        for turn in 0.. {
            if let Order::Shuffled(seed) = self.request.options.order {
                let seed = mix(mix(seed ^ number) ^ turn);
                for at in (1..turns.len()).rev() {
                    turns.swap(at, (mix(seed ^ at as u64) % (at as u64 + 1)) as usize);
                }
            }
            for &at in &turns {
                let wave = &mut waves[at];
                if wave.state == State::Runs || wave.state == State::Signalled {
                    self.turn(wave, context)
                        .map_err(|fault| (wave.number, fault))?;
                }
            }
            if waves.iter().all(|wave| wave.state == State::Ended) {
                break;
            }
            // All that have not ended wait, so the barrier lets go.
            for wave in waves.iter_mut().filter(|wave| wave.state == State::Waits) {
                (wave.state, wave.epoch) = (State::Runs, wave.epoch + 1);
            }
        }
        Ok(())
    }

    /// Runs a wave to the next barrier or to its end.
    fn turn(&self, wave: &mut Wave<W>, context: &mut Context<'_>) -> Result<(), Fault> {
        let limit = self.request.options.most_instructions;
        loop {
            let at = wave.at;
            let step = &self.code.steps[at];
            context.instruction = at as u32;
            context.ran[at] = true;
            wave.at += 1;
            wave.executed += 1;
            match step {
                Step::Nothing => {}
                Step::End => {
                    wave.state = State::Ended;
                    return Ok(());
                }
                Step::Barrier => {
                    wave.state = State::Waits;
                    return Ok(());
                }
                Step::Signal => {
                    if wave.state == State::Signalled {
                        let what = "a second signal of a barrier before its wait";
                        return Err(Fault::Unmodelled(what.to_owned()));
                    }
                    wave.state = State::Signalled;
                }
                Step::Wait => {
                    if wave.state != State::Signalled {
                        let what = "a wait at a barrier that it has not signalled";
                        return Err(Fault::Unmodelled(what.to_owned()));
                    }
                    wave.state = State::Waits;
                    return Ok(());
                }
                Step::Jump(when, to) => {
                    let taken = match when {
                        When::Always => true,
                        When::Condition(set) => wave.scc == *set,
                        When::Vcc(set) => (wave.lane_mask(VCC) != 0) == *set,
                        When::Exec(set) => (wave.exec() != 0) == *set,
                    };
                    if taken {
                        wave.at = *to;
                        if wave.executed > limit {
                            return Err(Fault::Endless(wave.executed));
                        }
                        if *to == usize::MAX {
                            let to = self.code.lines[at].0;
                            return Err(Fault::Jump { to });
                        }
                    }
                }
                Step::Lanes(run, operands) => run(wave, operands),
                Step::Moved(moves, run, operands) => {
                    let exec = wave.exec();
                    let written = moves.run(wave);
                    wave.set_exec(written);
                    run(wave, operands);
                    wave.set_exec(exec);
                }
                Step::Dual(halves, false) => {
                    let [(first, of_first), (second, of_second)] = &**halves;
                    first(wave, of_first);
                    second(wave, of_second);
                }
                Step::Dual(halves, true) => {
                    let [(first, of_first), (second, of_second)] = &**halves;
                    // No half writes more than two registers.
                    let to = usize::from(of_first.dest.at);
                    let both = to..wave.v.len().min(to + 2);
                    let old = wave.v[both.clone()].to_vec();
                    first(wave, of_first);
                    let new = wave.v[both.clone()].to_vec();
                    wave.v[both.clone()].copy_from_slice(&old);
                    second(wave, of_second);
                    for (at, (old, new)) in both.zip(old.iter().zip(&new)) {
                        if old != new {
                            wave.v[at] = *new;
                        }
                    }
                }
                Step::Scalar(scalar, dest, sources) => {
                    let mut values = [0; 3];
                    for (at, kind) in scalar.sources.iter().enumerate() {
                        let source = sources.get(at).unwrap_or(&NONE);
                        values[at] = value(wave, source, *kind);
                    }
                    let (result, condition) = (scalar.compute)(values, wave.scc);
                    wave.scc = condition.unwrap_or(wave.scc);
                    match scalar.result.registers() {
                        2 => wave.set_scalar_pair(*dest, result),
                        _ => wave.set_scalar(*dest, result as u32),
                    }
                }
                Step::Condition(compare, kind, [a, b]) => {
                    wave.scc = compare(value(wave, a, *kind), value(wave, b, *kind));
                }
                Step::Bit(set, kind, [a, b]) => {
                    let bits = u32::from(kind.registers()) * 32;
                    let bit = value(wave, b, Kind::U32) as u32 & (bits - 1);
                    wave.scc = (value(wave, a, *kind) >> bit & 1 != 0) == *set;
                }
                Step::Exec(combine, saves, dest, source) => {
                    let old = wave.exec();
                    let kind = if W == 32 { Kind::U32 } else { Kind::U64 };
                    let new = combine(value(wave, source, kind), old);
                    wave.set_exec(new);
                    let saved = match saves {
                        Saves::Old => old,
                        Saves::New => wave.exec(),
                    };
                    wave.scc = wave.exec() != 0;
                    wave.set_lane_mask(*dest, saved);
                }
                Step::Zero(dest) => wave.set_scalar(*dest, 0),
                Step::ScalarLoad(load) => load.run(wave, context)?,
                Step::Access(access) => access.run(wave, context)?,
                Step::Share(share) => share.run(wave, context)?,
            }
        }
    }
}

/// A scalar operand.
fn value<const W: usize>(wave: &Wave<W>, from: &Source, kind: Kind) -> u64 {
    match kind.registers() {
        2 => wave.pair(from),
        _ => u64::from(wave.word(from)),
    }
}

impl Counts {
    /// Adds what other blocks of the same launch did.
    fn add(&mut self, other: Counts) {
        self.instructions += other.instructions;
        self.waves += other.waves;
        self.blocks += other.blocks;
        self.written = other.written.or(self.written.take());
        self.ran.resize(other.ran.len(), false);
        for (ran, too) in self.ran.iter_mut().zip(other.ran) {
            *ran |= too;
        }
    }
}
