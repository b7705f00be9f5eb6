//! Watching a child: its events, and how it ends.
//!
//! What must stay true: nobody is waited for longer than the bound; a child that is given up is
//! killed and reaped; what a plugin writes to standard output goes to standard error.

use std::io::{BufRead, BufReader, Read, Write as _};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use vmafx_api::loader::signal_name;

use super::{Event, MARK};

/// Longest line of a child that is looked at, in bytes.
const LONGEST_LINE: u64 = 1 << 20;

/// A child under watch; killed when it is dropped.
pub(super) struct Watched {
    child: Child,
    events: Receiver<Event>,
    timeout: Duration,
}

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// By itself, with success.
    Well,
    /// In any other way, in words: `crashed with SIGSEGV`.
    Badly(String),
}

impl Watched {
    /// Starts `command`.
    pub(super) fn start(command: &mut Command, timeout: Duration) -> std::io::Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let (give, events) = channel();
        if let Some(output) = child.stdout.take() {
            // Not joined: a process that the plugin started may keep the pipe open.
            std::thread::spawn(move || {
                let mut output = BufReader::new(output);
                while let Some(line) = next_line(&mut output) {
                    let event = line.strip_prefix(MARK.as_bytes());
                    match event.and_then(|event| serde_json::from_slice(event).ok()) {
                        Some(event) => {
                            if give.send(event).is_err() {
                                break;
                            }
                        }
                        None if line.trim_ascii().is_empty() => {}
                        None => {
                            let mut err = std::io::stderr().lock();
                            // Nobody reads it: that is theirs to decide.
                            let _ = err.write_all(&line);
                        }
                    }
                }
            });
        }
        Ok(Watched {
            child,
            events,
            timeout,
        })
    }

    /// The next event, or how the child ended without one.
    pub(super) fn next(&mut self) -> Result<Event, End> {
        self.next_within(self.timeout)
    }

    /// As [`next`](Watched::next), of an event that may take `timeout`.
    pub(super) fn next_within(&mut self, timeout: Duration) -> Result<Event, End> {
        match self.events.recv_timeout(timeout) {
            Ok(event) => Ok(event),
            Err(RecvTimeoutError::Timeout) => Err(self.give_up()),
            Err(RecvTimeoutError::Disconnected) => Err(self.end()),
        }
    }

    /// Waits for the end of the child.
    pub(super) fn end(&mut self) -> End {
        let deadline = Instant::now() + self.timeout;
        let mut pause = Duration::from_micros(200);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return ending(status),
                Ok(None) if Instant::now() >= deadline => return self.give_up(),
                Ok(None) => {
                    std::thread::sleep(pause);
                    pause = (2 * pause).min(Duration::from_millis(20));
                }
                Err(error) => return End::Badly(format!("could not be waited for: {error}")),
            }
        }
    }

    fn give_up(&mut self) -> End {
        self.stop();
        End::Badly(format!(
            "did not answer within {} s and was stopped",
            self.timeout.as_secs_f64()
        ))
    }

    fn stop(&mut self) {
        // It may have ended by itself in the meantime.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.stop();
    }
}

fn next_line(output: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let read = output.take(LONGEST_LINE).read_until(b'\n', &mut line);
    read.is_ok_and(|count| count > 0).then_some(line)
}

fn ending(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(0), _) => End::Well,
        (Some(code), _) => End::Badly(format!("ended the process with status {code}")),
        (None, Some(signal)) => End::Badly(format!("crashed with {}", signal_name(signal))),
        (None, None) => End::Badly(status.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, timeout: Duration) -> Watched {
        let mut command = Command::new("/bin/sh");
        Watched::start(command.args(["-c", script]), timeout).unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn events_are_found_among_other_lines() {
        let script = format!("printf 'noise\n{MARK}{{\"event\":\"finished\"}}\n{MARK}{{}}\n'");
        let mut child = shell(&script, LONG);
        assert!(matches!(child.next(), Ok(Event::Finished)));
        assert_eq!(child.next().unwrap_err(), End::Well);
    }

    #[test]
    fn ends_have_words() {
        let end = |script| shell(script, LONG).next().unwrap_err();
        assert_eq!(end("exit 0"), End::Well);
        assert_eq!(
            end("exit 3"),
            End::Badly("ended the process with status 3".into())
        );
        assert_eq!(
            end("kill -SEGV $$"),
            End::Badly("crashed with SIGSEGV".into())
        );
        let hung = shell("exec sleep 600", Duration::from_millis(50)).next();
        let words = "did not answer within 0.05 s and was stopped";
        assert_eq!(hung.unwrap_err(), End::Badly(words.into()));
    }
}
