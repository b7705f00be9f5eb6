//! The golden clips: named pairs of synthetic clips whose scores are known.
//!
//! `clips.tsv` has one clip a line: name, scene, and what the distorted input has besides.
//! `synth:NAME/ref` and `synth:NAME/dis` name the two inputs. What must stay true: a name stands
//! for the same samples for ever, which the checksums in the tests hold it to.

/// One pair of clips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clip {
    /// Name.
    pub name: &'static str,
    scene: &'static str,
    distortion: &'static str,
}

impl Clip {
    /// The reference as text for [`SynthSpec`](crate::SynthSpec), in full.
    pub fn reference(&self) -> String {
        format!("synth:{}", self.scene)
    }

    /// The distorted input as text for [`SynthSpec`](crate::SynthSpec), in full.
    pub fn distorted(&self) -> String {
        let separator = if self.distortion.is_empty() { "" } else { "," };
        format!("synth:{}{separator}{}", self.scene, self.distortion)
    }
}

/// All golden clips.
pub fn all() -> impl Iterator<Item = Clip> {
    include_str!("clips.tsv").lines().map(|line| {
        let mut fields = line.split('\t');
        let mut field = || {
            fields
                .next()
                .expect("each line of the clip table has 3 fields")
        };
        Clip {
            name: field(),
            scene: field(),
            distortion: field(),
        }
    })
}

/// The clip of a name.
pub fn find(name: &str) -> Option<Clip> {
    all().find(|clip| clip.name == name)
}
