//! A stream of bytes with a name, a position and, for a regular file, an end.
//!
//! Everything that is read goes through here, so that each message can tell where it happened,
//! a pipe can be looked into before it is read, and frames of a file can be skipped by seeking.
//! What must stay true: looking ahead never waits for more bytes than it was told to need, or a
//! producer that feeds two pipes in turn would wait for us for ever.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use crate::error::MediaError;

/// Bytes to read frames from.
pub struct Input {
    name: String,
    stream: BufReader<Stream>,
    /// Bytes that were looked at and wait to be read, from `ahead_at` on.
    ahead: Vec<u8>,
    ahead_at: usize,
    offset: u64,
    size: Option<u64>,
}

enum Stream {
    Seekable(Box<dyn ReadSeek>),
    Other(Box<dyn Read + Send>),
}

trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

impl Read for Stream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Seekable(reader) => reader.read(buf),
            Stream::Other(reader) => reader.read(buf),
        }
    }
}

impl Seek for Stream {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Stream::Seekable(reader) => reader.seek(to),
            Stream::Other(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}

/// How a y4m line ended.
pub(crate) enum LineEnd {
    Newline,
    EndOfInput,
    TooLong,
}

impl Input {
    /// Opens a file, FIFO or device. Opening a FIFO waits for its writer.
    ///
    /// # Errors
    /// The system's refusal, or a directory.
    pub fn from_path(path: &Path) -> Result<Self, MediaError> {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Input::from_file(name, file),
            // Windows refuses to open a directory, with a reason that does not name it.
            Err(_) if path.is_dir() => Err(MediaError::Directory { input: name }),
            Err(source) => Err(MediaError::Open {
                input: name,
                source,
            }),
        }
    }

    /// Standard input, which may be a pipe or a file.
    ///
    /// # Errors
    /// The system's refusal, or a directory.
    pub fn from_stdin() -> Result<Self, MediaError> {
        let name = "standard input".to_owned();
        let duplicate = {
            #[cfg(unix)]
            {
                use std::os::fd::AsFd;
                io::stdin().as_fd().try_clone_to_owned()
            }
            #[cfg(windows)]
            {
                use std::os::windows::io::AsHandle;
                io::stdin().as_handle().try_clone_to_owned()
            }
        };
        match duplicate {
            Ok(handle) => Input::from_file(name, File::from(handle)),
            Err(source) => Err(MediaError::Open {
                input: name,
                source,
            }),
        }
    }

    /// An open file, FIFO or device, from its current position on.
    ///
    /// # Errors
    /// A directory, or a regular file that does not tell its position.
    pub fn from_file(name: impl Into<String>, file: File) -> Result<Self, MediaError> {
        // A handle that has no metadata (a Windows pipe) is read as a stream.
        match file.metadata() {
            Ok(metadata) if metadata.is_dir() => Err(MediaError::Directory { input: name.into() }),
            Ok(metadata) if metadata.is_file() => Input::from_seekable(name, file),
            _ => Ok(Input::from_reader(name, file)),
        }
    }

    /// A file or something like it, from its current position to its end.
    ///
    /// # Errors
    /// A position or an end that cannot be told.
    pub fn from_seekable(
        name: impl Into<String>,
        mut reader: impl Read + Seek + Send + 'static,
    ) -> Result<Self, MediaError> {
        let name = name.into();
        let mut measure = || {
            let start = reader.stream_position()?;
            let end = reader.seek(SeekFrom::End(0))?;
            reader.seek(SeekFrom::Start(start))?;
            Ok(end.saturating_sub(start))
        };
        match measure() {
            Ok(size) => Ok(Input::new(
                name,
                Stream::Seekable(Box::new(reader)),
                Some(size),
            )),
            Err(source) => Err(MediaError::Open {
                input: name,
                source,
            }),
        }
    }

    /// Any reader, as a stream of unknown length.
    pub fn from_reader(name: impl Into<String>, reader: impl Read + Send + 'static) -> Self {
        Input::new(name.into(), Stream::Other(Box::new(reader)), None)
    }

    fn new(name: String, stream: Stream, size: Option<u64>) -> Self {
        Input {
            name,
            stream: BufReader::with_capacity(64 << 10, stream),
            ahead: Vec::new(),
            ahead_at: 0,
            offset: 0,
            size,
        }
    }

    /// Name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes in all, where the input is a file.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Bytes read so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    fn failure(&self, source: io::Error) -> MediaError {
        MediaError::Read {
            input: self.name.clone(),
            offset: self.offset,
            source,
        }
    }

    /// Looks at the next bytes without reading them: waits until `least` are there or the input
    /// ends, and gives up to `most` if that takes no further waiting.
    pub(crate) fn peek(&mut self, least: usize, most: usize) -> Result<&[u8], MediaError> {
        while self.ahead.len() - self.ahead_at < least {
            let held = self.ahead.len();
            let wanted = most - (held - self.ahead_at);
            self.ahead.resize(held + wanted, 0);
            let read = self.stream.read(&mut self.ahead[held..]);
            self.ahead.truncate(held + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => break,
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.failure(e)),
            }
        }
        let end = self.ahead.len().min(self.ahead_at + most);
        Ok(&self.ahead[self.ahead_at..end])
    }

    /// Fills `buffer`; fewer bytes than that mean the end of the input.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, MediaError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match Lookahead(self).read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.failure(e)),
            }
        }
        Ok(filled)
    }

    /// Reads a line into `line`, without its newline, of at most `limit` bytes.
    pub(crate) fn line(&mut self, line: &mut Vec<u8>, limit: u64) -> Result<LineEnd, MediaError> {
        line.clear();
        let read = Lookahead(self).take(limit + 1).read_until(b'\n', line);
        if let Err(source) = read {
            return Err(self.failure(source));
        }
        Ok(match line.last() {
            Some(b'\n') => {
                line.pop();
                LineEnd::Newline
            }
            _ if line.len() as u64 > limit => LineEnd::TooLong,
            _ => LineEnd::EndOfInput,
        })
    }

    /// Passes over `count` bytes; fewer than that mean the end of the input.
    pub(crate) fn pass(&mut self, count: u64) -> Result<u64, MediaError> {
        let held = (self.ahead.len() - self.ahead_at) as u64;
        let passed = match self.size {
            Some(size) if held == 0 => {
                let step = count.min(size.saturating_sub(self.offset));
                let seek = i64::try_from(step)
                    .map_err(io::Error::other)
                    .and_then(|step| self.stream.seek_relative(step));
                seek.map(|()| {
                    self.offset += step;
                    step
                })
            }
            _ => io::copy(&mut Lookahead(self).take(count), &mut io::sink()),
        };
        passed.map_err(|source| self.failure(source))
    }
}

/// The bytes that were looked at, then the stream behind them; counts what it hands out.
struct Lookahead<'a>(&'a mut Input);

impl Read for Lookahead<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let input = &mut *self.0;
        let count = if input.ahead_at < input.ahead.len() {
            let held = &input.ahead[input.ahead_at..];
            let count = held.len().min(buf.len());
            buf[..count].copy_from_slice(&held[..count]);
            input.ahead_at += count;
            count
        } else {
            input.stream.read(buf)?
        };
        input.offset += count as u64;
        Ok(count)
    }
}

impl BufRead for Lookahead<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let input = &mut *self.0;
        if input.ahead_at < input.ahead.len() {
            return Ok(&input.ahead[input.ahead_at..]);
        }
        input.stream.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        let input = &mut *self.0;
        if input.ahead_at < input.ahead.len() {
            input.ahead_at += count;
        } else {
            input.stream.consume(count);
        }
        input.offset += count as u64;
    }
}
