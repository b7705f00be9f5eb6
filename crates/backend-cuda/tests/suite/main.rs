//! The backend without a driver, and over one that only pretends: what is listed, what is refused,
//! and what is kept of compiling. Kernels are not run here.
//!
//! Needs the device code of `cargo xtask kernels`; without it the backend says so, and that is
//! all that is tested.

#![allow(clippy::unwrap_used)]
#![allow(
    unsafe_code,
    reason = "objects of the driver are handed to the backend, as a caller would"
)]

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::os::unix::Library;
use vmafx_api::{ApiError, Backend, OpenRequest, Status};
use vmafx_backend_cuda::Cuda;
use vmafx_gpu::GpuBackend;

/// Names the library, in a process of the tests below.
const VARIABLE: &str = "VMAFX_CUDA_LIBRARY";

fn backend(cuda: Cuda) -> Option<Backend> {
    let backend = Backend::new(GpuBackend::new(cuda)).unwrap();
    match backend.devices() {
        Err(error) if error.subject == "device code" => {
            let said = "built without device code; run `cargo xtask kernels` and build again";
            assert_eq!(error.message, said);
            eprintln!("not run: {error}");
            None
        }
        _ => Some(backend),
    }
}

/// The backend over the driver in this file.
fn over(file: &Path) -> Cuda {
    // SAFETY: a driver of these tests, or none at all.
    unsafe { Cuda::with_library(file) }
}

/// What is said of a driver without a device, of this class.
fn silence(file: &Path, status: Status) -> Option<ApiError> {
    let error = backend(over(file))?.devices().unwrap_err();
    assert_eq!(error.status, status, "{error}");
    assert!(!error.message.contains('\n'), "{error}");
    Some(error)
}

/// The pretended driver of a test.
struct Driver {
    file: PathBuf,
    library: Library,
    folder: tempfile::TempDir,
}

impl Driver {
    fn new(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("libcuda.so.1");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/driver.c");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&file, &source])
            .args(flags)
            .status();
        assert!(built.unwrap().success());
        // SAFETY: runs nothing when it is loaded.
        let library = unsafe { Library::new(&file) }.unwrap();
        Driver {
            file,
            library,
            folder,
        }
    }

    fn variable(&self, name: &str) -> *mut c_int {
        let name = CString::new(name).unwrap();
        // SAFETY: `fake` has this type.
        unsafe {
            let find = self
                .library
                .get::<unsafe extern "C" fn(*const c_char) -> *mut c_int>("fake");
            let found = find.unwrap()(name.as_ptr());
            assert!(!found.is_null());
            found
        }
    }

    fn set(&self, name: &str, value: c_int) {
        // SAFETY: a variable of the library, used by this thread alone.
        unsafe { *self.variable(name) = value }
    }

    fn get(&self, name: &str) -> c_int {
        // SAFETY: as above.
        unsafe { *self.variable(name) }
    }

    /// The beginning of the image that was loaded last.
    fn image(&self) -> String {
        // SAFETY: `fake_image` has this type and answers a text of C.
        unsafe {
            let image = self
                .library
                .get::<unsafe extern "C" fn() -> *const c_char>("fake_image");
            let text = CStr::from_ptr(image.unwrap()());
            text.to_string_lossy().into_owned()
        }
    }

    fn backend(&self) -> Option<Backend> {
        backend(over(&self.file).without_cache())
    }
}

#[test]
fn a_file_that_is_no_library_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("libcuda.so.1");
    std::fs::write(&empty, "").unwrap();
    let Some(error) = silence(&empty, Status::DEVICE) else {
        return;
    };
    let said = &error.message;
    assert!(
        said.starts_with("the NVIDIA driver cannot be loaded: ") && said.contains("file too short"),
        "{said}"
    );
}

#[test]
fn a_missing_function_is_named_with_its_library() {
    let driver = Driver::new(&["-DWITHOUT_LAUNCH"]);
    let Some(error) = silence(&driver.file, Status::DEVICE) else {
        return;
    };
    let wanted = format!(
        "{} is no library of the NVIDIA driver that can be used: it has no function \
         `cuLaunchKernel`",
        driver.file.display()
    );
    assert!(error.message.starts_with(&wanted), "{error}");
}

#[test]
fn a_driver_that_does_not_start_says_why() {
    let driver = Driver::new(&[]);
    for (code, part) in [
        (100, "the NVIDIA driver shows no GPU"),
        (803, "are of different versions"),
        (34, "the toolkit's stub"),
        (802, "services are not running"),
        (999, "cuInit answered CUDA_ERROR_OF_A_TEST (999)"),
    ] {
        driver.set("init_answer", code);
        // Only a machine without devices is none of the driver's faults.
        let status = match code {
            100 => Status::NOT_FOUND,
            _ => Status::DEVICE,
        };
        let Some(error) = silence(&driver.file, status) else {
            return;
        };
        assert!(error.message.contains(part), "{part}: {error}");
    }
    // One that starts later is found then.
    let backend = Backend::new(GpuBackend::new(over(&driver.file))).unwrap();
    assert!(backend.devices().is_err());
    driver.set("init_answer", 0);
    assert_eq!(backend.devices().unwrap().len(), 1);
}

#[test]
fn devices_are_described() {
    let driver = Driver::new(&[]);
    let Some(backend) = driver.backend() else {
        return;
    };
    let device = backend.devices().unwrap().remove(0);
    assert_eq!(device.name, "Device of a test");
    assert_eq!((&*device.isa, device.total_memory), ("sm_90", 123_456_789));
    assert_eq!(device.pci, Some([2, 7, 1, 0]));

    driver.set("capability", 75);
    let device = backend.devices().unwrap().remove(0);
    assert_eq!(
        device.name,
        "Device of a test (unusable: no device code for sm_75)"
    );
    let error = backend.open(&OpenRequest::new(0)).unwrap_err();
    assert_eq!(error.status, Status::NOT_SUPPORTED);
    for part in ["is sm_75", "sm_80, sm_90 and later"] {
        assert!(error.message.contains(part), "{error}");
    }
    let error = backend.open(&OpenRequest::new(1)).unwrap_err();
    assert_eq!(
        (error.status, &*error.subject),
        (Status::NOT_FOUND, "index")
    );
}

#[test]
fn contexts_are_pushed_and_popped_in_pairs() {
    let driver = Driver::new(&[]);
    let Some(backend) = driver.backend() else {
        return;
    };
    let open = |external| {
        // SAFETY: the pretended driver looks behind none of them.
        let request = unsafe { OpenRequest::new(0).with_external(external) };
        backend.open(&request)
    };
    let device = open([0, 0]).unwrap();
    assert_eq!((driver.get("retained"), driver.get("streams")), (1, 1));
    drop(device);
    assert_eq!((driver.get("retained"), driver.get("streams")), (0, 0));

    // A caller's context and stream are borrowed.
    let device = open([0x1100, 0x1101]).unwrap();
    assert_eq!((driver.get("retained"), driver.get("streams")), (0, 0));
    drop(device);
    let device = open([0x1100, 0]).unwrap();
    assert_eq!(driver.get("streams"), 1);
    drop(device);

    for (external, subject) in [
        ([0, 0x1101], "external[0]"),
        ([0x2100, 0], "external[0]"),
        ([0x1100, 0x1201], "external[1]"),
        ([0x1100, 1], "external[1]"),
        ([0x1100, 2], "external[1]"),
    ] {
        let error = open(external).unwrap_err();
        assert_eq!(
            (error.status, &*error.subject),
            (Status::INVALID, subject),
            "{external:x?}: {error}"
        );
    }
    assert_eq!((driver.get("streams"), driver.get("pushed")), (0, 0));
}

#[test]
fn code_that_does_not_load_is_told_with_the_compilers_words() {
    let driver = Driver::new(&[]);
    driver.set("link_answer", 218);
    let Some(backend) = driver.backend() else {
        return;
    };
    let error = backend.open(&OpenRequest::new(0)).unwrap_err();
    assert_eq!((error.status, error.code), (Status::NOT_SUPPORTED, 218));
    assert_eq!(
        error.message,
        "its device code does not load: cuLinkAddData answered CUDA_ERROR_INVALID_PTX: ptxas: \
         line 3 is wrong (218)"
    );
    driver.set("link_answer", 0);
    driver.set("load_answer", 2);
    let error = backend.open(&OpenRequest::new(0)).unwrap_err();
    assert_eq!((error.status, error.code), (Status::NO_MEMORY, 2));
    assert_eq!((driver.get("retained"), driver.get("pushed")), (0, 0));
}

/// The child of the tests below: opens the device over and over, and says what the driver did.
#[test]
#[ignore = "started by other tests"]
fn child() {
    let backend = Backend::new(GpuBackend::new(Cuda::new())).unwrap();
    match backend.devices() {
        Ok(_) => {
            backend.open(&OpenRequest::new(0)).unwrap();
            let file = std::env::var_os(VARIABLE).unwrap();
            // SAFETY: the pretended driver, which the backend has opened.
            let library = unsafe { Library::new(file) }.unwrap();
            let driver = Driver {
                file: PathBuf::new(),
                library,
                folder: tempfile::tempdir().unwrap(),
            };
            let (links, loads) = (driver.get("links"), driver.get("loads"));
            println!("said: {links} links, {loads} loads, {}", driver.image());
        }
        Err(error) => println!("said: {error}"),
    }
}

/// What the child says with these variables.
fn said(variables: &[(&str, &Path)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["child", "--exact", "--ignored", "--nocapture"])
        .env_remove(VARIABLE)
        .env_remove("CUDA_VISIBLE_DEVICES")
        .envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, said) = text.split_once("said: ").unwrap();
    said.lines().next().unwrap().to_owned()
}

#[test]
fn what_was_compiled_is_loaded_the_next_time() {
    let driver = Driver::new(&[]);
    if driver.backend().is_none() {
        return;
    }
    let cache = driver.folder.path().join("cache");
    let open = || said(&[(VARIABLE, &driver.file), ("VMAFX_CACHE_DIR", &cache)]);
    let first = open();
    assert!(
        first.starts_with("1 links, 1 loads, \u{7f}ELF of "),
        "{first}"
    );
    let second = open();
    assert_eq!(second, first.replace("1 links", "0 links"));

    // What is damaged is compiled again, and kept anew.
    let file = cache.join("cuda").read_dir().unwrap().next().unwrap();
    let file = file.unwrap().path();
    let mut bytes = std::fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(open(), first);
    assert_eq!(open(), second);

    // Where nothing can be kept, it is compiled each time.
    let nowhere = Path::new("/dev/null/cache");
    let open = || said(&[(VARIABLE, &driver.file), ("VMAFX_CACHE_DIR", nowhere)]);
    assert_eq!((open(), open()), (first.clone(), first));
}

#[test]
fn the_environment_chooses_the_library() {
    let none = Path::new("/no/such/lib.so");
    let text = said(&[(VARIABLE, none)]);
    if text.contains("built without device code") {
        eprintln!("not run: {text}");
        return;
    }
    let wanted = "driver: the NVIDIA driver cannot be loaded: VMAFX_CUDA_LIBRARY names it: \
                  /no/such/lib.so";
    assert!(text.starts_with(wanted), "{text}");
    let text = said(&[(VARIABLE, none), ("CUDA_VISIBLE_DEVICES", Path::new("-1"))]);
    assert!(
        text.ends_with("; CUDA_VISIBLE_DEVICES=-1 (device failure)"),
        "{text}"
    );
    let text = said(&[(VARIABLE, Path::new("libcuda.so.1"))]);
    let wanted = "driver: VMAFX_CUDA_LIBRARY is `libcuda.so.1`, which is no absolute path";
    assert!(
        text.starts_with(wanted) && text.ends_with("(invalid)"),
        "{text}"
    );
    if ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"]
        .iter()
        .any(|folder| Path::new(folder).join("libcuda.so.1").exists())
    {
        eprintln!("not run: a driver is installed");
        return;
    }
    let text = said(&[]);
    let wanted = "driver: the NVIDIA driver is not installed: no libcuda.so.1; there is no \
                  /dev/nvidiactl (not found)";
    assert_eq!(text, wanted);
}
