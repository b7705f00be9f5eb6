//! A DRM syncobj: a place in the kernel for one fence (binary), or for the fences of ever greater
//! points (timeline).
//!
//! It is named by a handle of an open DRM node, or by a descriptor that any node takes in. Its
//! own waits end with success whatever became of the work, so the fence is taken out as a
//! [`SyncFile`], which tells. What has no fence yet is pending: it waits for the submission, too.
//!
//! What must stay true: every object here holds its own handle, so a producer that drops its own
//! cannot make ours mean another object; handles are dropped with their object.

#![allow(unsafe_code)]

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use vmafx_api::{ApiError, FenceImpl, FenceKind, FenceState, NativeFence};

use crate::descriptor;
use crate::error::{Errno, FenceError};
use crate::sync_file::{SyncFile, given_away};
use crate::uapi::{
    self, DrmGetCap, DrmSyncobjArray, DrmSyncobjCreate, DrmSyncobjDestroy, DrmSyncobjHandle,
    DrmSyncobjTimelineArray, DrmSyncobjTimelineWait, DrmSyncobjTransfer, DrmSyncobjWait, Request,
};

/// An open DRM node whose driver has syncobjs. Clones are one open file.
#[derive(Clone, Debug)]
pub struct DrmNode {
    file: Arc<OwnedFd>,
    timelines: bool,
}

impl DrmNode {
    /// The node of a descriptor that is borrowed for the call; handles are shared with it.
    ///
    /// # Errors
    /// [`FenceError::Mistaken`] for a descriptor of something else, [`FenceError::Refused`] for a
    /// driver without syncobjs.
    pub fn duplicate(fd: BorrowedFd<'_>) -> Result<Self, FenceError> {
        let name = format!("DRM node (fd {})", descriptor::number(&fd));
        DrmNode::from_fd(descriptor::duplicate(fd)?).map_err(|error| error.of(name))
    }

    /// The first render node of this system that this user may open and that has syncobjs. They
    /// are the kernel's, so any driver takes in those of any other. Primary nodes are left
    /// alone: whoever opens one first is its master.
    ///
    /// # Errors
    /// [`FenceError::Refused`] if there is none.
    pub fn any() -> Result<Self, FenceError> {
        const FOLDER: &str = "/dev/dri";
        let none = |why: String| FenceError::refused(FenceKind::DRM_SYNCOBJ, why);
        let entries = std::fs::read_dir(FOLDER)
            .map_err(|error| none(format!("no DRM driver is here: {FOLDER}: {error}")))?;
        let mut paths: Vec<_> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.to_string_lossy().contains("/renderD"))
            .collect();
        paths.sort();
        for path in &paths {
            let file = std::fs::File::options().read(true).write(true).open(path);
            if let Some(node) = file
                .ok()
                .and_then(|file| DrmNode::from_fd(file.into()).ok())
            {
                return Ok(node);
            }
        }
        Err(none(format!(
            "none of the {} render nodes in {FOLDER} can be opened and has syncobjs",
            paths.len()
        )))
    }

    /// Takes the descriptor over.
    ///
    /// # Errors
    /// As [`duplicate`](DrmNode::duplicate).
    pub fn from_fd(file: OwnedFd) -> Result<Self, FenceError> {
        let capable = |capability| {
            let mut argument = DrmGetCap {
                capability,
                value: 0,
            };
            // SAFETY: the struct holds no address.
            unsafe { uapi::DRM_IOCTL_GET_CAP.call(file.as_fd(), &mut argument) }
                .map(|()| argument.value != 0)
        };
        let syncobj = capable(uapi::DRM_CAP_SYNCOBJ);
        let timelines = capable(uapi::DRM_CAP_SYNCOBJ_TIMELINE).unwrap_or(false);
        match syncobj {
            Ok(true) => Ok(DrmNode {
                file: Arc::new(file),
                timelines,
            }),
            Ok(false) | Err(Errno(95 /* EOPNOTSUPP */)) => Err(FenceError::refused(
                FenceKind::DRM_SYNCOBJ,
                "the node's driver has none; give a node of another",
            )),
            Err(errno) => Err(FenceError::Mistaken {
                what: "DRM node",
                call: uapi::DRM_IOCTL_GET_CAP.name,
                errno,
                remedy: "give an open render or primary node",
            }),
        }
    }

    /// Whether its syncobjs may be timelines.
    pub fn has_timelines(&self) -> bool {
        self.timelines
    }

    /// # Safety
    /// As [`Request::call`].
    unsafe fn call<T>(&self, request: &Request<T>, argument: &mut T) -> Result<(), Errno> {
        // SAFETY: contract.
        unsafe { request.call(self.file.as_fd(), argument) }
    }
}

/// A syncobj by a handle of our own, dropped with it.
#[derive(Debug)]
pub struct Syncobj {
    node: DrmNode,
    handle: u32,
}

impl Syncobj {
    /// A new one, empty or with a signalled fence in it.
    ///
    /// # Errors
    /// [`FenceError::Kernel`].
    pub fn create(node: &DrmNode, signalled: bool) -> Result<Self, FenceError> {
        let mut argument = DrmSyncobjCreate {
            handle: 0,
            flags: match signalled {
                true => uapi::DRM_SYNCOBJ_CREATE_SIGNALED,
                false => 0,
            },
        };
        let request = &uapi::DRM_IOCTL_SYNCOBJ_CREATE;
        // SAFETY: the struct holds no address.
        unsafe { node.call(request, &mut argument) }.map_err(|errno| failed(request, errno))?;
        Ok(Syncobj {
            node: node.clone(),
            handle: argument.handle,
        })
    }

    /// The object that `handle` of the node names, by a handle of our own: the caller keeps its
    /// handle, and may drop it.
    ///
    /// # Errors
    /// [`FenceError::Mistaken`] for a handle that names none.
    pub fn from_handle(node: &DrmNode, handle: u32) -> Result<Self, FenceError> {
        let opaque = to_fd(node, handle, 0).map_err(|errno| {
            let error = FenceError::Mistaken {
                what: WHAT,
                call: uapi::DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD.name,
                errno,
                remedy: "give a handle of that very open file, not yet destroyed",
            };
            error.of(format!("{WHAT} (handle {handle})"))
        })?;
        Syncobj::from_opaque(node, opaque.as_fd())
    }

    /// The object of a descriptor made by [`opaque_fd`](Syncobj::opaque_fd), here or elsewhere;
    /// borrowed for the call.
    ///
    /// # Errors
    /// [`FenceError::Mistaken`] for a descriptor of something else.
    pub fn from_opaque(node: &DrmNode, fd: BorrowedFd<'_>) -> Result<Self, FenceError> {
        let number = descriptor::number(&fd);
        let mut argument = DrmSyncobjHandle {
            fd: number,
            ..DrmSyncobjHandle::default()
        };
        let request = &uapi::DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE;
        // SAFETY: the struct holds no address.
        unsafe { node.call(request, &mut argument) }.map_err(|errno| {
            let error = FenceError::Mistaken {
                what: WHAT,
                call: request.name,
                errno,
                remedy: REMEDY,
            };
            error.of(format!("{WHAT} (fd {number})"))
        })?;
        Ok(Syncobj {
            node: node.clone(),
            handle: argument.handle,
        })
    }

    /// Its handle at the node.
    pub fn handle(&self) -> u32 {
        self.handle
    }

    /// A descriptor of the object, which every DRM node takes in.
    ///
    /// # Errors
    /// [`FenceError::Kernel`].
    pub fn opaque_fd(&self) -> Result<OwnedFd, FenceError> {
        to_fd(&self.node, self.handle, 0)
            .map_err(|errno| failed(&uapi::DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, errno).of(self))
    }

    /// The fence that is in it now, at `point` of a timeline or 0; None if nothing was submitted.
    ///
    /// # Errors
    /// [`FenceError::Kernel`].
    pub fn sync_file(&self, point: u64) -> Result<Option<SyncFile>, FenceError> {
        const EXPORT: u32 = uapi::DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE;
        // Only what is in a binary syncobj can be exported.
        let copy = match point {
            0 => None,
            _ => Some(Syncobj::create(&self.node, false)?),
        };
        if let Some(copy) = &copy {
            match copy.transfer(0, self, point) {
                Err(Errno(EINVAL)) => return Ok(None),
                done => {
                    done.map_err(|errno| failed(&uapi::DRM_IOCTL_SYNCOBJ_TRANSFER, errno).of(self))?
                }
            }
        }
        let object = copy.as_ref().unwrap_or(self);
        match to_fd(&self.node, object.handle, EXPORT) {
            Ok(file) => SyncFile::from_fd(file).map(Some),
            Err(Errno(EINVAL)) => Ok(None),
            Err(errno) => Err(failed(&uapi::DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, errno).of(self)),
        }
    }

    /// Puts `fence` into it: at `point` of a timeline, or in the stead of what is there for 0.
    ///
    /// # Errors
    /// [`FenceError::Kernel`].
    pub fn import_sync_file(&self, point: u64, fence: &SyncFile) -> Result<(), FenceError> {
        let Some(fd) = fence.fd() else {
            return self.signal(point);
        };
        let copy = match point {
            0 => None,
            _ => Some(Syncobj::create(&self.node, false)?),
        };
        let mut argument = DrmSyncobjHandle {
            handle: copy.as_ref().unwrap_or(self).handle,
            flags: uapi::DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
            fd: descriptor::number(&fd),
            pad: 0,
        };
        let request = &uapi::DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE;
        // SAFETY: the struct holds no address.
        unsafe { self.node.call(request, &mut argument) }
            .map_err(|errno| failed(request, errno).of(self))?;
        match copy {
            Some(copy) => self
                .transfer(point, &copy, 0)
                .map_err(|errno| failed(&uapi::DRM_IOCTL_SYNCOBJ_TRANSFER, errno).of(self)),
            None => Ok(()),
        }
    }

    /// Signals it from the host: a point of a timeline, or for 0 the binary object.
    ///
    /// # Errors
    /// [`FenceError::Kernel`].
    pub fn signal(&self, point: u64) -> Result<(), FenceError> {
        if point == 0 {
            return self.array(&uapi::DRM_IOCTL_SYNCOBJ_SIGNAL);
        }
        let mut points = [point];
        self.points(&uapi::DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, &mut points)
    }

    /// Takes every fence out.
    ///
    /// # Errors
    /// [`FenceError::Kernel`].
    pub fn reset(&self) -> Result<(), FenceError> {
        self.array(&uapi::DRM_IOCTL_SYNCOBJ_RESET)
    }

    /// The greatest point of the timeline that is reached; 0 for none, and of a binary object.
    ///
    /// # Errors
    /// [`FenceError::Kernel`].
    pub fn reached(&self) -> Result<u64, FenceError> {
        let mut points = [0];
        self.points(&uapi::DRM_IOCTL_SYNCOBJ_QUERY, &mut points)?;
        Ok(points[0])
    }

    /// Looks at `point` of a timeline, or for 0 at the binary object, without waiting.
    ///
    /// # Errors
    /// [`FenceError::Failed`], [`FenceError::Kernel`].
    pub fn is_signalled(&self, point: u64) -> Result<bool, FenceError> {
        match self.sync_file(point)? {
            Some(fence) => fence.is_signalled().map_err(|error| self.renamed(error)),
            None => Ok(false),
        }
    }

    /// Waits for at most `timeout`, for the submission and for the work.
    ///
    /// # Errors
    /// [`FenceError::TimedOut`], [`FenceError::NotSubmitted`], [`FenceError::Failed`],
    /// [`FenceError::Kernel`].
    pub fn wait_for(&self, point: u64, timeout: Duration) -> Result<(), FenceError> {
        let begin = Instant::now();
        loop {
            let left = timeout.saturating_sub(begin.elapsed());
            if let Some(fence) = self.sync_file(point)? {
                return match fence.wait_for(left) {
                    Err(error) if matches!(error.cause(), FenceError::TimedOut { .. }) => {
                        Err(FenceError::TimedOut { timeout }.of(self))
                    }
                    other => other.map_err(|error| self.renamed(error)),
                };
            }
            // A fence that is there again and gone again is looked for until the bound.
            if left.is_zero() || !self.submitted(point, left)? {
                return Err(FenceError::NotSubmitted { timeout }.of(self));
            }
        }
    }

    /// Waits until there is a fence; a binary object's is waited for on the way, for it cannot
    /// be waited for alone. Whether it came.
    fn submitted(&self, point: u64, left: Duration) -> Result<bool, FenceError> {
        const FOR_SUBMIT: u32 = uapi::DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT;
        const AVAILABLE: u32 = uapi::DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE;
        let (handles, points) = ([self.handle], [point]);
        let timeout_nsec = deadline(left);
        let (name, waited) = if self.node.timelines {
            let mut argument = DrmSyncobjTimelineWait {
                handles: handles.as_ptr() as u64,
                points: points.as_ptr() as u64,
                timeout_nsec,
                count_handles: 1,
                flags: FOR_SUBMIT | AVAILABLE,
                ..DrmSyncobjTimelineWait::default()
            };
            let request = &uapi::DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT;
            // SAFETY: both addresses are those of arrays of one, which outlive the call.
            (request.name, unsafe {
                self.node.call(request, &mut argument)
            })
        } else {
            let mut argument = DrmSyncobjWait {
                handles: handles.as_ptr() as u64,
                timeout_nsec,
                count_handles: 1,
                flags: FOR_SUBMIT,
                ..DrmSyncobjWait::default()
            };
            let request = &uapi::DRM_IOCTL_SYNCOBJ_WAIT;
            // SAFETY: the address is that of an array of one, which outlives the call.
            (request.name, unsafe {
                self.node.call(request, &mut argument)
            })
        };
        match waited {
            Ok(()) => Ok(true),
            // Time is up; a fence that is pending is there all the same.
            Err(Errno(62 /* ETIME */)) => Ok(self.sync_file(point)?.is_some()),
            Err(errno) => Err(FenceError::Kernel { call: name, errno }.of(self)),
        }
    }

    fn transfer(&self, point: u64, from: &Syncobj, from_point: u64) -> Result<(), Errno> {
        let mut argument = DrmSyncobjTransfer {
            src_handle: from.handle,
            dst_handle: self.handle,
            src_point: from_point,
            dst_point: point,
            ..DrmSyncobjTransfer::default()
        };
        // SAFETY: the struct holds no address.
        unsafe {
            self.node
                .call(&uapi::DRM_IOCTL_SYNCOBJ_TRANSFER, &mut argument)
        }
    }

    fn array(&self, request: &Request<DrmSyncobjArray>) -> Result<(), FenceError> {
        let handles = [self.handle];
        let mut argument = DrmSyncobjArray {
            handles: handles.as_ptr() as u64,
            count_handles: 1,
            pad: 0,
        };
        // SAFETY: the address is that of an array of one, which outlives the call.
        unsafe { self.node.call(request, &mut argument) }
            .map_err(|errno| failed(request, errno).of(self))
    }

    fn points(
        &self,
        request: &Request<DrmSyncobjTimelineArray>,
        points: &mut [u64; 1],
    ) -> Result<(), FenceError> {
        let handles = [self.handle];
        let mut argument = DrmSyncobjTimelineArray {
            handles: handles.as_ptr() as u64,
            points: points.as_mut_ptr() as u64,
            count_handles: 1,
            flags: 0,
        };
        // SAFETY: both addresses are those of arrays of one, which outlive the call.
        unsafe { self.node.call(request, &mut argument) }
            .map_err(|errno| failed(request, errno).of(self))
    }

    /// What befell the sync_file that was taken out befell this object.
    fn renamed(&self, error: FenceError) -> FenceError {
        error.cause().clone().of(self)
    }
}

impl Drop for Syncobj {
    fn drop(&mut self) {
        let mut argument = DrmSyncobjDestroy {
            handle: self.handle,
            pad: 0,
        };
        // SAFETY: the struct holds no address. It fails only for a handle that is gone.
        let _ = unsafe {
            self.node
                .call(&uapi::DRM_IOCTL_SYNCOBJ_DESTROY, &mut argument)
        };
    }
}

/// A point of a timeline, or a binary syncobj (point 0), as a fence.
#[derive(Clone, Debug)]
pub struct SyncobjFence {
    object: Arc<Syncobj>,
    point: u64,
}

impl SyncobjFence {
    /// That point of that object.
    ///
    /// # Errors
    /// [`FenceError::Refused`] for a point of a driver without timelines.
    pub fn new(object: Arc<Syncobj>, point: u64) -> Result<Self, FenceError> {
        if point != 0 && !object.node.timelines {
            let why = format!("the driver has no timelines, and point {point} is of one");
            return Err(FenceError::refused(FenceKind::DRM_SYNCOBJ, why));
        }
        Ok(SyncobjFence { object, point })
    }

    /// The syncobj that `fence` names: `handle` of the node `fd`, or with handle 0 the object of
    /// the descriptor `fd`. `value` is the point, 0 for a binary object. The caller keeps all.
    ///
    /// # Errors
    /// [`FenceError::Mistaken`] for what names none, [`FenceError::Refused`] for another kind
    /// and drivers that cannot.
    pub fn acquire(fence: &NativeFence) -> Result<Self, FenceError> {
        let (fd, handle) = (fence.fd(), fence.handle());
        if fence.kind() != FenceKind::DRM_SYNCOBJ {
            return Err(FenceError::refused(
                fence.kind(),
                "a DRM syncobj is asked for",
            ));
        }
        let name = format!("{WHAT} (fd {fd}, handle {handle}, point {})", fence.value());
        let open = |what| descriptor::duplicate_raw(fd, what, REMEDY);
        let object = if handle == 0 {
            open(WHAT).and_then(|file| {
                let object = Syncobj::from_opaque(&DrmNode::any()?, file.as_fd());
                object.map_err(|error| error.cause().clone())
            })
        } else {
            open("DRM node")
                .and_then(DrmNode::from_fd)
                .and_then(|node| {
                    let handle = u32::try_from(handle).map_err(|_| FenceError::Mistaken {
                        what: WHAT,
                        call: "its handle",
                        errno: Errno(34 /* ERANGE */),
                        remedy: "handles have 32 bits",
                    })?;
                    let object = Syncobj::from_handle(&node, handle);
                    object.map_err(|error| error.cause().clone())
                })
        };
        object
            .and_then(|object| SyncobjFence::new(Arc::new(object), fence.value()))
            .map_err(|error| error.of(name))
    }

    /// The object.
    pub fn object(&self) -> &Arc<Syncobj> {
        &self.object
    }
}

impl FenceImpl for SyncobjFence {
    fn native(&self) -> NativeFence {
        let Syncobj { node, handle } = &*self.object;
        let (node, handle): (RawFd, _) = (descriptor::number(&*node.file), u64::from(*handle));
        // SAFETY: a syncobj of that node, both of which live for as long as this object.
        unsafe { NativeFence::new(FenceKind::DRM_SYNCOBJ, node, handle, self.point) }
    }

    fn poll(&self) -> Result<FenceState, ApiError> {
        Ok(self.object.is_signalled(self.point)?.into())
    }

    fn wait(&self, timeout: Duration) -> Result<(), ApiError> {
        Ok(self.object.wait_for(self.point, timeout)?)
    }

    fn export(&self, kind: FenceKind) -> Result<NativeFence, ApiError> {
        match kind {
            FenceKind::DRM_SYNCOBJ => {
                let opaque = given_away(kind, Some(self.object.opaque_fd()?));
                // SAFETY: the same descriptor, which is the receiver's.
                Ok(unsafe { NativeFence::new(kind, opaque.fd(), 0, self.point) })
            }
            FenceKind::SYNC_FILE => match self.object.sync_file(self.point)? {
                Some(fence) => Ok(given_away(kind, fence.into_fd())),
                None => {
                    let why = "nothing was submitted to the syncobj yet; wait for that first";
                    Err(FenceError::refused(kind, why).of(&self.object).into())
                }
            },
            other => Err(FenceError::no_export(FenceKind::DRM_SYNCOBJ, other).into()),
        }
    }
}

const WHAT: &str = "DRM syncobj";
const REMEDY: &str =
    "give an open descriptor that a driver exported of one, or a node's and a handle";
const EINVAL: i32 = 22;

fn failed<T>(request: &Request<T>, errno: Errno) -> FenceError {
    FenceError::Kernel {
        call: request.name,
        errno,
    }
}

fn to_fd(node: &DrmNode, handle: u32, flags: u32) -> Result<OwnedFd, Errno> {
    let mut argument = DrmSyncobjHandle {
        handle,
        flags,
        fd: -1,
        pad: 0,
    };
    // SAFETY: the struct holds no address.
    unsafe { node.call(&uapi::DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &mut argument) }?;
    Ok(descriptor::taken(argument.fd))
}

/// `left` from now, on the clock that the kernel's waits go by.
fn deadline(left: Duration) -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let now = i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec);
    let then = now.saturating_add(i128::try_from(left.as_nanos()).unwrap_or(i128::MAX));
    i64::try_from(then).unwrap_or(i64::MAX)
}

impl fmt::Display for Syncobj {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{WHAT} (handle {})", self.handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn descriptors_that_are_no_node_are_refused_by_name() {
        let memory = rustix::fs::memfd_create("frame", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let event = rustix::event::eventfd(1, rustix::event::EventfdFlags::CLOEXEC).unwrap();
        let null: OwnedFd = File::open("/dev/null").unwrap().into();
        for other in [memory, event, null] {
            let fd = descriptor::number(&other);
            // SAFETY: nothing is done with it but what the kernel refuses.
            let fence = unsafe { NativeFence::new(FenceKind::DRM_SYNCOBJ, fd, 1, 0) };
            let error = SyncobjFence::acquire(&fence).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "DRM syncobj (fd {fd}, handle 1, point 0): this is no DRM node \
                     (DRM_IOCTL_GET_CAP: ENOTTY, Inappropriate ioctl for device (os error 25)); \
                     give an open render or primary node"
                )
            );
            // SAFETY: as above. Here without a driver, in the guest with one that refuses it.
            let opaque = unsafe { NativeFence::new(FenceKind::DRM_SYNCOBJ, fd, 0, 0) };
            let error = SyncobjFence::acquire(&opaque).unwrap_err();
            let text = error.to_string();
            assert!(
                text.starts_with(&format!("DRM syncobj (fd {fd}, handle 0")),
                "{text}"
            );
        }
        // SAFETY: no descriptor at all.
        let none = unsafe { NativeFence::new(FenceKind::DRM_SYNCOBJ, -1, 1, 0) };
        let error = SyncobjFence::acquire(&none).unwrap_err();
        assert!(
            matches!(error.cause(), FenceError::Mistaken { .. }),
            "{error}"
        );
        assert!(SyncobjFence::acquire(&NativeFence::none()).is_err());
    }

    #[test]
    fn a_bound_past_the_end_of_time_is_the_end_of_time() {
        assert_eq!(deadline(Duration::MAX), i64::MAX);
        assert!(deadline(Duration::ZERO) < deadline(Duration::from_secs(1)));
    }
}
