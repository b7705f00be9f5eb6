//! Without a runtime, without a device, and with libraries that are no runtime: told in one line.

use std::path::Path;
use std::process::Command;

use vmafx_api::{ApiError, Backend, Status};
use vmafx_backend_hip::Hip;
use vmafx_gpu::GpuBackend;

/// Names the library, in a process of the test below.
const VARIABLE: &str = "VMAFX_HIP_LIBRARY";

fn silence(hip: Hip) -> Option<ApiError> {
    let backend = Backend::new(GpuBackend::new(hip)).unwrap();
    let error = backend.devices().unwrap_err();
    if error.subject == "device code" {
        eprintln!("not run: {error}");
        return None;
    }
    assert_eq!(error.status, Status::NOT_FOUND, "{error}");
    assert!(!error.message.contains('\n'), "{error}");
    Some(error)
}

#[test]
fn a_file_that_is_no_library_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("libamdhip64.so.6");
    std::fs::write(&empty, "").unwrap();
    let Some(error) = silence(Hip::with_library(&empty)) else {
        return;
    };
    let said = &error.message;
    assert!(
        said.starts_with("the HIP runtime of ROCm cannot be loaded: ")
            && said.contains("libamdhip64.so.6")
            && said.contains("file too short"),
        "{said}"
    );
    let none = silence(Hip::with_library(folder.path().join("none.so"))).unwrap();
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
    let Some(error) = silence(Hip::with_library(&library)) else {
        return;
    };
    let wanted = format!(
        "{} is no library of the HIP runtime of ROCm that can be used: it has no function \
         `hipRuntimeGetVersion`",
        library.display()
    );
    assert!(error.message.starts_with(&wanted), "{error}");
}

/// The child of the test below: says what the backend says in its environment.
#[test]
#[ignore = "started by `the_environment_chooses_the_library`"]
fn child() {
    let backend = Backend::new(GpuBackend::new(Hip::new())).unwrap();
    match backend.devices() {
        Ok(devices) => println!("said: {} devices", devices.len()),
        Err(error) => println!("said: {error}"),
    }
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
    assert!(text.starts_with(wanted), "{text}");
    let text = said(&[(VARIABLE, "/no/such/lib.so")]);
    assert!(
        text.starts_with("runtime: the HIP runtime of ROCm cannot be loaded: VMAFX_HIP_LIBRARY names it: /no/such/lib.so"),
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
