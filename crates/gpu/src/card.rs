//! An opened device: its runtime, its device code, and whether it is still there.
//!
//! What must stay true: after a failure that takes the device's state with it, no work is given to
//! the device again (what was made is still taken down); the first such failure is what everyone is
//! told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use vmafx_api::{ApiError, Status};

use crate::resources::{Module, Stream};
use crate::runtime::{Current, Fault, FunctionHandle, Runtime, RuntimeError, StreamHandle, enter};

/// An opened device.
#[derive(Debug)]
pub(crate) struct Card {
    /// Kernels that were looked up.
    functions: Mutex<HashMap<&'static str, FunctionHandle>>,
    module: Module,
    /// Where a caller's work and ours meet: acquire fences are waited for here.
    library: Stream,
    /// Where release events are recorded, made for the first of them. Nothing waits here.
    releases: OnceLock<Stream>,
    lost: OnceLock<RuntimeError>,
    runtime: Arc<dyn Runtime>,
}

impl Card {
    /// Loads `object` on the device. `stream` is a caller's stream to use as the library's.
    ///
    /// # Safety
    /// The stream is one of the runtime and outlives the card.
    pub(crate) unsafe fn new(
        runtime: Arc<dyn Runtime>,
        object: &[u8],
        stream: Option<StreamHandle>,
    ) -> Result<Self, RuntimeError> {
        Ok(Card {
            functions: Mutex::default(),
            module: Module::load(&runtime, object)?,
            library: match stream {
                // SAFETY: the caller's promise.
                Some(handle) => unsafe { Stream::borrowed(&runtime, handle) },
                None => Stream::new(&runtime)?,
            },
            releases: OnceLock::new(),
            lost: OnceLock::new(),
            runtime,
        })
    }

    pub(crate) fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.runtime
    }

    pub(crate) fn library(&self) -> &Stream {
        &self.library
    }

    pub(crate) fn releases(&self) -> Result<&Stream, RuntimeError> {
        if let Some(stream) = self.releases.get() {
            return Ok(stream);
        }
        let stream = Stream::new(&self.runtime)?;
        Ok(self.releases.get_or_init(|| stream))
    }

    /// Makes the device current, unless it was lost.
    pub(crate) fn enter(&self) -> Result<Current<'_>, ApiError> {
        match self.lost.get() {
            Some(error) => Err(lost(error)),
            None => enter(&self.runtime).map_err(|error| self.failed(error)),
        }
    }

    /// The kernel `name`.
    pub(crate) fn function(&self, name: &'static str) -> Result<FunctionHandle, ApiError> {
        let mut functions = self
            .functions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(&function) = functions.get(name) {
            return Ok(function);
        }
        let function = self.module.function(name);
        let function = function.map_err(|error| self.failed_about(error, name))?;
        functions.insert(name, function);
        Ok(function)
    }

    /// What a failed call means for the caller; remembers whether it was the device's end.
    pub(crate) fn failed(&self, error: RuntimeError) -> ApiError {
        self.failed_about(error, "device")
    }

    /// The same, about `subject`.
    pub(crate) fn failed_about(&self, error: RuntimeError, subject: &str) -> ApiError {
        if error.fault == Fault::DeviceLost {
            return lost(self.lost.get_or_init(|| error));
        }
        error.about(subject)
    }
}

fn lost(error: &RuntimeError) -> ApiError {
    let message = format!("the device is lost since {error}; restart the program");
    ApiError::new(Status::DEVICE, "device", message).with_code(error.code.into())
}
