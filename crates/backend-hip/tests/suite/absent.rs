//! Without a runtime, without a device, and with libraries that are no runtime: told in one line.

use std::path::Path;
use std::process::Command;

use vmafx_api::{ApiError, Backend, Status};
use vmafx_backend_hip::Hip;
use vmafx_gpu::GpuBackend;
use vmafx_hipsim::install::Simulator;

/// Names the library, in a process of the tests below.
const VARIABLE: &str = "VMAFX_HIP_LIBRARY";
/// Names the library that the process has loaded before.
const APPLICATION: &str = "VMAFX_TEST_APPLICATION";

/// What is said of a library that cannot be used; nothing if the backend has no device code.
fn refusal(library: &Path) -> Option<ApiError> {
    // SAFETY: a runtime of these tests, or none at all.
    let hip = unsafe { Hip::with_library(library) };
    let backend = Backend::new(GpuBackend::new(hip)).unwrap();
    let error = backend.devices().unwrap_err();
    if error.subject == "device code" {
        eprintln!("not run: {error}");
        return None;
    }
    // No absence: an automatic run warns of it.
    assert_eq!(error.status, Status::DEVICE, "{error}");
    assert!(!error.message.contains('\n'), "{error}");
    Some(error)
}

#[test]
fn a_file_that_is_no_library_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("libamdhip64.so.6");
    std::fs::write(&empty, "").unwrap();
    let Some(error) = refusal(&empty) else {
        return;
    };
    let said = &error.message;
    assert!(
        said.starts_with("the HIP runtime of ROCm cannot be loaded: ")
            && said.contains("libamdhip64.so.6")
            && said.contains("file too short"),
        "{said}"
    );
    let none = refusal(&folder.path().join("none.so")).unwrap();
    assert!(none.message.contains("none.so"), "{none}");
}

/// A library made of C text.
fn compiled(folder: &Path, text: &str) -> std::path::PathBuf {
    let (source, library) = (folder.join("a.c"), folder.join("libamdhip64.so.6"));
    std::fs::write(&source, text).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    assert!(built.unwrap().success());
    library
}

#[test]
fn a_missing_function_is_named_with_its_library() {
    let folder = tempfile::tempdir().unwrap();
    let text = "int hipInit(unsigned f) { return 0; }\n";
    let library = compiled(folder.path(), text);
    let Some(error) = refusal(&library) else {
        return;
    };
    let wanted = format!(
        "{} is no library of the HIP runtime of ROCm that can be used: it has no function \
         `hipRuntimeGetVersion`",
        library.display()
    );
    assert!(error.message.starts_with(&wanted), "{error}");
}

/// What every runtime has beside what the test below needs.
const FUNCTIONS: &str = "hipGetLastError hipGetDeviceCount hipDeviceTotalMem hipDeviceGetAttribute hipGetDevice \
    hipSetDevice hipMalloc hipFree hipHostMalloc hipHostFree hipMemGetInfo \
    hipStreamCreateWithFlags hipStreamDestroy hipStreamQuery hipStreamSynchronize \
    hipStreamWaitEvent hipEventCreateWithFlags hipEventDestroy hipEventRecord hipEventQuery \
    hipEventSynchronize hipEventElapsedTime hipMemcpyAsync hipMemcpy2DAsync hipModuleLoadData \
    hipModuleUnload hipModuleGetFunction hipModuleLaunchKernel";

#[test]
fn a_runtime_that_does_not_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "int hipInit(unsigned f) { return 999; }\n\
                    int hipRuntimeGetVersion(int *v) { *v = 60443484; return 0; }\n\
                    const char *hipGetErrorName(int c) { return \"hipErrorOfATest\"; }\n"
        .to_owned();
    for name in FUNCTIONS.split_whitespace() {
        text += &format!("int {name}(void) {{ return 1; }}\n");
    }
    let library = compiled(folder.path(), &text);
    let Some(error) = refusal(&library) else {
        return;
    };
    assert_eq!(error.code, 999);
    let part = "does not start: hipInit answered hipErrorOfATest (999)";
    assert!(error.message.contains(part), "{error}");
}

/// The child of the tests below: says what the backend says in its environment.
#[test]
#[ignore = "started by other tests"]
fn child() {
    let application = std::env::var_os(APPLICATION).map(|name| {
        let sim = Simulator::open(Path::new(&name)).unwrap();
        assert!(sim.control("devices", "3"));
        sim
    });
    let backend = Backend::new(GpuBackend::new(Hip::new())).unwrap();
    match backend.devices() {
        Ok(devices) => println!("said: {} devices", devices.len()),
        Err(error) => println!("said: {error}"),
    }
    drop(application);
}

/// What the backend says in a process with these variables.
fn said(variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["absent::child", "--exact", "--ignored", "--nocapture"])
        .env_remove(VARIABLE)
        .env_remove("HIP_VISIBLE_DEVICES")
        .env_remove("ROCR_VISIBLE_DEVICES")
        .env_remove("GPU_DEVICE_ORDINAL")
        .envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, said) = text.split_once("said: ").unwrap();
    said.lines().next().unwrap().to_owned()
}

#[test]
fn the_environment_chooses_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let library = vmafx_hipsim::install::install(folder.path(), "6.4").unwrap();
    let text = said(&[(VARIABLE, library.to_str().unwrap())]);
    if text.contains("built without device code") {
        eprintln!("not run: {text}");
        return;
    }
    assert_eq!(text, "1 devices");
    let text = said(&[(VARIABLE, "libamdhip64.so.6")]);
    let wanted = "runtime: VMAFX_HIP_LIBRARY is `libamdhip64.so.6`, which is no absolute path of a \
                  library";
    assert!(
        text.starts_with(wanted) && text.ends_with("(invalid)"),
        "{text}"
    );
    let text = said(&[(VARIABLE, "/no/such/lib.so")]);
    let wanted = "runtime: the HIP runtime of ROCm cannot be loaded: VMAFX_HIP_LIBRARY names it: \
                  /no/such/lib.so";
    assert!(
        text.starts_with(wanted) && text.ends_with("(device failure)"),
        "{text}"
    );

    // Variables that hide devices are told.
    let hidden = [
        (VARIABLE, library.to_str().unwrap()),
        ("VMAFX_HIPSIM_DEVICES", "0"),
        ("HIP_VISIBLE_DEVICES", "-1"),
        ("GPU_DEVICE_ORDINAL", "7"),
    ];
    let text = said(&hidden);
    assert!(
        text.ends_with("; HIP_VISIBLE_DEVICES=-1, GPU_DEVICE_ORDINAL=7 (not found)"),
        "{text}"
    );
}

/// Streams and memory of one runtime are nothing to another.
#[test]
fn the_runtime_that_the_application_has_loaded_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    for rocm in ["6.4", "7.2"] {
        vmafx_hipsim::install::install(folder.path(), rocm).unwrap();
    }
    let place = ("LD_LIBRARY_PATH", folder.path().to_str().unwrap());
    let text = said(&[place]);
    if text.contains("built without device code") {
        eprintln!("not run: {text}");
        return;
    }
    assert_eq!(text, "1 devices");
    // Of both, the newer one is only installed.
    let text = said(&[place, (APPLICATION, "libamdhip64.so.6")]);
    assert_eq!(text, "3 devices");
    let text = said(&[place, (APPLICATION, "libamdhip64.so.7")]);
    assert_eq!(text, "3 devices");
}

/// Debian's runtime of ROCm 5.2, where it is installed, on a machine without a device.
#[test]
fn a_real_runtime_without_a_device_says_so() {
    let library = "/usr/lib/x86_64-linux-gnu/libamdhip64.so.5";
    if !Path::new(library).exists() || Path::new("/dev/kfd").exists() {
        eprintln!("not run: no {library}, or a device");
        return;
    }
    let text = said(&[(VARIABLE, library), ("ROCR_VISIBLE_DEVICES", "0")]);
    if text.contains("built without device code") {
        return;
    }
    assert_eq!(
        text,
        format!(
            "runtime: the HIP runtime of ROCm, version 5.2 ({library}) shows no GPU; there is no /dev/kfd; \
             ROCR_VISIBLE_DEVICES=0 (not found)"
        )
    );
}
