//! Names, paths, search folders, viewing assumptions.

use std::fs;
use std::path::PathBuf;

use vmafx_models::{MAX_BYTES, ModelError, Origin, catalog};

#[test]
fn every_built_in_model_is_whole_and_canonical() {
    let expected = [
        ("vmaf_v0.6.1", 1, true),
        ("vmaf_v0.6.1neg", 1, true),
        ("vmaf_4k_v0.6.1", 1, false),
        ("vmaf_4k_v0.6.1neg", 1, false),
        ("vmaf_b_v0.6.3", 21, true),
    ];
    assert!(catalog::builtin_names().eq(expected.map(|(name, ..)| name)));
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/data"));
    for (name, members, has_transform) in expected {
        let set = catalog::find(name, &[]).unwrap();
        assert_eq!(set.name(), name);
        assert_eq!(*set.origin(), Origin::BuiltIn);
        assert_eq!(
            (set.members(), set.has_transform()),
            (members, has_transform),
            "{name}"
        );
        assert_eq!(set.features().len(), 6);
        // The checked-in text is what the writer writes, under the notice.
        let file = folder.join(format!("{name}.model"));
        let text = fs::read_to_string(&file).unwrap();
        assert!(
            text.contains("# SPDX-License-Identifier: BSD-2-Clause-Patent\n"),
            "{name}"
        );
        let figures: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(figures.join("\n") + "\n", set.to_native(), "{name}");
        // By path it is the same model.
        let loaded = catalog::load(&file).unwrap();
        assert_eq!(loaded.sha256(), set.sha256());
        assert_eq!(loaded.name(), name);
        assert_eq!(*loaded.origin(), Origin::File(file));
    }
    let sets = [
        "vmaf_v0.6.1",
        "vmaf_v0.6.1.json",
        "vmaf_v0.6.1.model",
        "vmaf_v0.6.1neg",
    ]
    .map(|name| catalog::find(name, &[]).unwrap().figures_sha256());
    assert_eq!(sets[0], sets[1]);
    assert_eq!(sets[0], sets[2]);
    assert_ne!(sets[0], sets[3]);
}

#[test]
fn folders_are_searched_in_order_behind_the_built_in_models() {
    let [first, second] = [(), ()].map(|()| tempfile::tempdir().unwrap());
    let write = |folder: &tempfile::TempDir, name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let other = crate::FULL.replace("rho -1.5", "rho -2.5");
    write(&second, "mine.json", crate::FULL);
    write(&second, "vmaf_v0.6.1.json", crate::FULL);
    write(&second, "nested/deep.json", crate::FULL);
    let folders: Vec<PathBuf> = [&first, &second].map(|f| f.path().to_owned()).to_vec();

    assert_eq!(
        *catalog::find("vmaf_v0.6.1", &folders).unwrap().origin(),
        Origin::BuiltIn
    );
    let mine = catalog::find("mine.json", &folders).unwrap();
    assert_eq!(mine.name(), "mine");
    assert_eq!(
        *mine.origin(),
        Origin::File(second.path().join("mine.json"))
    );
    assert_eq!(catalog::find("deep", &folders).unwrap().name(), "deep");
    write(&first, "a/mine.json", &other);
    let again = catalog::find("mine", &folders).unwrap();
    assert_eq!(
        *again.origin(),
        Origin::File(first.path().join("a/mine.json"))
    );
    assert_ne!(again.sha256(), mine.sha256());
    // Our own format is found too.
    write(&first, "mine.model", &mine.to_native());
    let native = catalog::find("mine", &folders).unwrap();
    assert_eq!(
        *native.origin(),
        Origin::File(first.path().join("mine.model"))
    );
    assert_eq!(native.figures_sha256(), mine.figures_sha256());

    let error = catalog::find("nobody", &folders).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "there is no model `nobody`; built in are vmaf_v0.6.1, vmaf_v0.6.1neg, \
             vmaf_4k_v0.6.1, vmaf_4k_v0.6.1neg, vmaf_b_v0.6.3; no nobody.json and no \
             nobody.model lies in {} or {}",
            first.path().display(),
            second.path().display()
        )
    );
    write(&first, "broken.json", "{");
    let error = catalog::find("broken", &folders).unwrap_err().to_string();
    assert!(
        error.contains("broken.json: not a JSON document: EOF"),
        "{error}"
    );
}

#[test]
fn names_and_paths_that_cannot_be() {
    let text = |name: &str| catalog::find(name, &[]).unwrap_err().to_string();
    assert!(text("a/b.json").starts_with("`a/b.json` is a path, not the name of a model"));
    assert!(text("nobody").ends_with("lies in any folder, as none is searched"));
    for name in [
        "vmaf_v0.6.1.pkl",
        "x/vmaf_float_v0.6.1.pkl.model",
        "OLD.PKL",
    ] {
        let error = catalog::load(name.as_ref()).unwrap_err();
        assert!(matches!(error, ModelError::Pickle { .. }), "{error}");
        let error = catalog::find(name, &[]).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("{name} is a pickle model")),
            "{error}"
        );
    }
    let error = catalog::load("/no/such.json".as_ref())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("cannot read the model file /no/such.json: "),
        "{error}"
    );
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(
        catalog::load(folder.path()),
        Err(ModelError::File { .. })
    ));
    let large = folder.path().join("large.json");
    fs::write(&large, vec![b' '; MAX_BYTES + 1]).unwrap();
    let error = catalog::load(&large).unwrap_err().to_string();
    assert!(
        error.ends_with("a model file may have 8388608 bytes, this one has more"),
        "{error}"
    );
}

#[test]
fn known_models_say_for_whom_they_score() {
    let text = |name, phone| catalog::viewing(name, phone).map(|viewing| viewing.to_string());
    let hd = "1920x1080 pictures seen from 3.0 screen heights";
    let uhd = "3840x2160 pictures seen from 1.5 screen heights";
    for name in catalog::builtin_names() {
        let expected = if name.contains("4k") { uhd } else { hd };
        assert_eq!(text(name, false).as_deref(), Some(expected), "{name}");
    }
    let phone = "1920x1080 pictures on the screen of a phone";
    assert_eq!(text("vmaf_v0.6.1", true).as_deref(), Some(phone));
    assert_eq!(text("vmaf_4k_v0.6.1", true).as_deref(), Some(uhd));
    assert_eq!(
        text("vmaf_v1.0.16_hfr_1d5h_2160", false).as_deref(),
        Some(uhd)
    );
    let far = "1920x1080 pictures seen from 5.0 screen heights";
    assert_eq!(text("vmaf_v1.0.16_5d0h", false).as_deref(), Some(far));
    assert_eq!(text("mine", false), None);
    assert_eq!(text("vmaf_v9", false), None);

    let hd = catalog::viewing("vmaf_v0.6.1", false).unwrap();
    let fits = [
        (1920, 1080),
        (1920, 800),
        (1440, 1080),
        (1080, 1920),
        (2048, 1080),
        (1920, 1088),
    ];
    assert!(fits.iter().all(|(width, height)| hd.fits(*width, *height)));
    let others = [
        (1280, 720),
        (854, 480),
        (3840, 2160),
        (2560, 1440),
        (1, 1),
        (u32::MAX, u32::MAX),
    ];
    assert!(
        !others
            .iter()
            .any(|(width, height)| hd.fits(*width, *height))
    );
    let uhd = catalog::viewing("vmaf_4k_v0.6.1", false).unwrap();
    assert!(uhd.fits(3840, 1600) && uhd.fits(4096, 2160) && !uhd.fits(1920, 1080));
}
