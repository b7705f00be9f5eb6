//! The text of a synthetic source, skipping, extremes.

use proptest::prelude::*;
use vmafx_api::{Chroma, HostFrame};

use super::*;
use crate::clips;

fn source(text: &str) -> SynthSource {
    SynthSource::new(text.parse().unwrap(), text)
}

#[test]
fn skipped_frames_change_nothing() {
    let text = "synth:tex352_8_cuthold/dis,size=40x30,chroma=444";
    let (mut whole, mut tail) = (source(text), source(text));
    let mut frames = [
        HostFrame::new(whole.format()),
        HostFrame::new(whole.format()),
    ];
    for _ in 0..21 {
        assert!(whole.read(&mut frames[0]).unwrap());
    }
    tail.skip(20).unwrap();
    assert!(tail.read(&mut frames[1]).unwrap());
    let [a, b] = &mut frames;
    assert_eq!(a.bytes_mut(), b.bytes_mut());
    let error = tail.skip(28).unwrap_err().to_string();
    assert!(
        error.contains("cannot skip 28 frames") && error.contains("it has 27"),
        "{error}"
    );
}

#[test]
fn text_is_read_and_written() {
    let text = "synth:tex,size=576x324,depth=10,chroma=422,frames=7,seed=5,hold=3,cut=20,px=-5,\
                alt.seed=9,dist=blur:1+block:8:12+shift:-1:2+gain:18";
    let spec: SynthSpec = text.parse().unwrap();
    assert_eq!(spec.to_string(), text);
    assert_eq!(spec.format().to_string(), "576x324 4:2:2 10-bit");

    let spec: SynthSpec = "synth:black".parse().unwrap();
    assert_eq!(
        spec.to_string(),
        "synth:black,size=352x288,depth=8,chroma=420,frames=48,seed=1"
    );
    let spec: SynthSpec = "synth:tex2160_10_codec/dis,frames=1".parse().unwrap();
    assert_eq!((spec.frames(), spec.format().chroma()), (1, Chroma::Yuv420));
    for clip in clips::all() {
        for text in [clip.reference(), clip.distorted()] {
            let spec: SynthSpec = text.parse().unwrap();
            assert_eq!(
                spec.to_string().parse::<SynthSpec>().unwrap(),
                spec,
                "{text}"
            );
        }
    }
}

#[test]
fn wrong_texts_are_named() {
    let cases = [
        ("synth:", "unknown scene ``; known are tex, grad"),
        ("synth:texx", "unknown scene `texx`"),
        (
            "synth:tex576_8_codec",
            "known are tex576_8_codec/ref, tex576_8_codec/dis",
        ),
        ("synth:nothing/ref", "unknown clip `nothing`"),
        (
            "synth:one352_8/left",
            "unknown side of a clip `left`; known are ref, dis",
        ),
        ("synth:tex,size=576", "size `576` is not WIDTHxHEIGHT"),
        (
            "synth:tex,size=0x1",
            "width `0` is not a whole number from 1 to 32768",
        ),
        (
            "synth:tex,size=1x32769",
            "height `32769` is not a whole number from 1 to 32768",
        ),
        (
            "synth:tex,depth=17",
            "depth `17` is not a whole number from 8 to 16",
        ),
        (
            "synth:tex,chroma=411",
            "chroma `411` is not one of 400, 420, 422, 444",
        ),
        ("synth:tex,frames=0", "frames `0` is not"),
        ("synth:tex,frames", "part `frames` is not KEY=VALUE"),
        ("synth:tex,", "part `` is not KEY=VALUE"),
        ("synth:tex,seed=+1", "seed `+1` is not"),
        ("synth:tex,seed=4294967296", "seed `4294967296` is not"),
        ("synth:tex,seed=1,seed=2", "seed `2` is not the only value"),
        ("synth:tex,level=3", "unknown key `level`; known are size"),
        ("synth:flat,alt.px=3", "unknown key `px`"),
        (
            "synth:checker,k=0",
            "k `0` is not a whole number from 1 to 65536",
        ),
        (
            "synth:tex,dist=blurr:1",
            "unknown operation `blurr`; known are blur:N, sharp:N",
        ),
        (
            "synth:tex,dist=blur",
            "blur `` is not a whole number from 0 to 64",
        ),
        (
            "synth:tex,dist=blur:1:2",
            "dist `blur:1:2` is not an operation with 1 arguments",
        ),
        (
            "synth:tex,dist=block:8:0",
            "block `0` is not a whole number from 1 to 255",
        ),
        ("synth:tex,hold=0", "hold `0` is not"),
    ];
    for (text, part) in cases {
        let error = text.parse::<SynthSpec>().unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
        assert!(error.starts_with(&format!("{text}: ")), "{error}");
    }
    let long = format!("synth:tex,dist={}", ["blur:1"; 17].join("+"));
    let error = long.parse::<SynthSpec>().unwrap_err().to_string();
    assert!(error.contains("a list of at most 16 operations"), "{error}");
}

#[test]
fn extremes_do_not_overflow() {
    let texts = [
        "synth:tex,size=1x1,depth=16,chroma=444,frames=1000000000,px=-4096,py=4096,grain=256,\
         hold=7,cut=1,seed=4294967295,dist=noise:255+sharp:256+gain:-256+add:255+block:1:255",
        "synth:grad,size=3x1,depth=9,chroma=400,frames=1000000000,gx=1000000,gy=1000000,\
         dist=blur:64+block:65536:1+shift:32768:-32768+band:8",
        "synth:rand,size=1x5,chroma=422,frames=1000000000,dist=sharp:-256+gain:256",
        "synth:checker,size=5x5,k=65536,dist=blur:3",
    ];
    for text in texts {
        let mut source = source(text);
        let mut frame = HostFrame::new(source.format());
        let frames = source.describe().frames.unwrap();
        assert!(source.read(&mut frame).unwrap());
        source.skip(frames - 2).unwrap();
        assert!(source.read(&mut frame).unwrap());
        assert!(frame.check_samples().is_ok(), "{text}");
        assert!(!source.read(&mut frame).unwrap());
    }
}

proptest! {
    #[test]
    fn any_text_gives_a_clip_or_an_error(text in "(synth:)?(tex|grad|rand|[a-z]{0,3})(,(size=[0-9]{1,2}x[0-9]{1,2}|px=-?[0-9]{1,4}|dist=(blur:[0-9]|block:[0-9]{1,2}:[0-9]|[a-z]*:-?[0-9:]*)(\\+noise:[0-9]{1,3})?|.{0,8})){0,4}") {
        if let Ok(spec) = text.parse::<SynthSpec>() {
            prop_assert_eq!(&spec.to_string().parse::<SynthSpec>().unwrap(), &spec);
            let mut source = SynthSource::new(spec, &text);
            if source.format().frame_samples() <= 1 << 16 {
                let mut frame = HostFrame::new(source.format());
                prop_assert!(source.read(&mut frame).unwrap());
                prop_assert!(frame.check_samples().is_ok());
            }
        }
    }
}
