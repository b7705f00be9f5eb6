//! The reader of libvmaf's JSON model files.
//!
//! Every level is taken apart only as far as it is read, so the text of a number stays at hand
//! (option values are texts) and unknown keys cost nothing. Keys that libvmaf does not read are
//! skipped as it skips them; what it does read must be of the right kind, be there once, and
//! keep the limits.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::model::{Feature, Kind, Model, Stated, check_features};
use crate::set::Figures;
use crate::svm::{Machine, finite};
use crate::transform::Transform;
use crate::{MAX_BYTES, MAX_MEMBERS, MAX_VECTORS, ModelError};

/// Reads a JSON file.
pub(crate) fn read(bytes: &[u8]) -> Result<Figures, ModelError> {
    if bytes.len() > MAX_BYTES {
        return Err(ModelError::TooLarge { limit: MAX_BYTES });
    }
    let document: &RawValue = serde_json::from_slice(bytes).map_err(|source| ModelError::Json {
        source: Arc::new(source),
    })?;
    let top = Node {
        path: String::new(),
        raw: document.get(),
    };
    let mut budget = MAX_VECTORS;
    let entries = top.object()?;
    if let Some(dict) = entries.find("model_dict") {
        let mut figures = Figures::of(read_features(&dict.object()?)?);
        read_member(dict, &mut figures, &mut budget)?;
        return Ok(figures);
    }
    let mut found: Option<Figures> = None;
    let mut count = 0;
    for (key, node) in &entries.list {
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        if *key != count.to_string() {
            let wanted = format!("{count}: members are numbered 0, 1, 2 in order");
            return Err(ModelError::value("key of a member", key, &wanted));
        }
        if count == MAX_MEMBERS {
            let (count, limit) = (entries.list.len(), MAX_MEMBERS);
            return Err(ModelError::TooMany {
                key: "collection".to_owned(),
                count,
                limit,
            });
        }
        let member = node.object()?;
        let dict = member.get("model_dict")?;
        let features = read_features(&dict.object()?)?;
        let figures = found.get_or_insert_with(|| Figures::of(features.clone()));
        if figures.features != features {
            let wanted = "those of member 0, because a collection reads one set of features";
            let key = format!("{key}.model_dict.feature_names or .feature_opts_dicts");
            return Err(ModelError::value(&key, "another list", wanted));
        }
        read_member(dict, figures, &mut budget)?;
        count += 1;
    }
    match found {
        Some(figures) if count > 1 => Ok(figures),
        Some(_) => {
            let wanted = "2 or more: members 0 and 1 at least".to_owned();
            Err(ModelError::Count {
                key: "collection".to_owned(),
                count,
                wanted,
            })
        }
        None => Err(ModelError::Missing {
            key: "model_dict".to_owned(),
        }),
    }
}

/// The feature list of a `model_dict`.
fn read_features(entries: &Object) -> Result<Vec<Feature>, ModelError> {
    let mut features = Vec::new();
    for name in entries.get("feature_names")?.array()? {
        features.push(Feature {
            name: name.text()?,
            options: Vec::new(),
        });
    }
    if let Some(node) = entries.find("feature_opts_dicts") {
        let dicts = node.array()?;
        if dicts.len() != features.len() {
            return Err(ModelError::Count {
                key: node.path.clone(),
                count: dicts.len(),
                wanted: format!("{}, one for each feature", features.len()),
            });
        }
        for (feature, dict) in features.iter_mut().zip(dicts) {
            for (name, value) in &dict.object()?.list {
                feature.options.push((name.clone(), value.option_text()?));
            }
        }
    }
    check_features(&entries.path, &features)?;
    Ok(features)
}

/// All else of a `model_dict`, as a further member of `figures`.
fn read_member(dict: &Node, figures: &mut Figures, budget: &mut usize) -> Result<(), ModelError> {
    let entries = dict.object()?;
    let kind = entries.get("model_type")?;
    let kind = Kind::parse(&kind.path, &kind.text()?)?;
    let norm = entries.get("norm_type")?;
    let rescale = match norm.text()?.as_str() {
        "none" => None,
        "linear_rescale" => Some([
            entries.get("slopes")?.numbers()?,
            entries.get("intercepts")?.numbers()?,
        ]),
        other => {
            return Err(ModelError::value(
                &norm.path,
                other,
                "linear_rescale or none",
            ));
        }
    };
    let chroma_correction = entries.find("chroma_correction_parameter");
    let clip = entries.find("score_clip");
    let transform = entries.find("score_transform");
    let machine = entries.get("model")?;
    let stated = Stated {
        kind,
        rescale,
        chroma_correction: chroma_correction.map(Node::number).transpose()?,
        clip: clip.map(Node::pair).transpose()?,
        transform: transform.map(read_transform).transpose()?,
        machine: Machine::from_libsvm(
            &machine.text()?,
            &machine.path,
            &mut figures.vectors,
            budget,
        )?,
    };
    let member = Model::new(&dict.path, &figures.features, stated)?;
    figures.members.push(member);
    Ok(())
}

fn read_transform(node: &Node) -> Result<Transform, ModelError> {
    let mut transform = Transform::default();
    for (name, value) in &node.object()?.list {
        match name.as_str() {
            "enabled" => transform.enabled = value.boolean()?,
            "p0" | "p1" | "p2" if value.raw != "null" => {
                let place = usize::from(name.as_bytes()[1] - b'0');
                transform.p[place] = Some(value.number()?);
            }
            "knots" if value.raw != "null" => {
                let points = value.array()?;
                if points.is_empty() {
                    let wanted = "2 or more points, or be null".to_owned();
                    return Err(ModelError::Count {
                        key: value.path.clone(),
                        count: 0,
                        wanted,
                    });
                }
                for point in points {
                    transform.knots.push(point.pair()?);
                }
            }
            "out_lte_in" => transform.out_lte_in = value.quoted_boolean()?,
            "out_gte_in" => transform.out_gte_in = value.quoted_boolean()?,
            _ => {}
        }
    }
    Ok(transform)
}

/// One value of the document: its path, for errors, and its text.
struct Node<'a> {
    path: String,
    raw: &'a str,
}

impl<'a> Node<'a> {
    fn wrong(&self, wanted: &str) -> ModelError {
        let key = if self.path.is_empty() {
            "the document"
        } else {
            &self.path
        };
        ModelError::value(key, self.raw, wanted)
    }

    fn object(&self) -> Result<Object<'a>, ModelError> {
        let entries: Entries = self.parse("an object")?;
        if entries.count > MAX_ENTRIES {
            return Err(self.too_many(entries.count));
        }
        let mut seen = HashSet::new();
        let mut list = Vec::new();
        for (name, value) in entries.list {
            let path = match self.path.as_str() {
                "" => name.clone(),
                path => format!("{path}.{name}"),
            };
            if !seen.insert(name.clone()) {
                return Err(ModelError::Twice { key: path });
            }
            list.push((
                name,
                Node {
                    path,
                    raw: value.get(),
                },
            ));
        }
        Ok(Object {
            path: self.path.clone(),
            list,
        })
    }

    fn array(&self) -> Result<Vec<Node<'a>>, ModelError> {
        let elements: Elements = self.parse("an array")?;
        if elements.count > MAX_ENTRIES {
            return Err(self.too_many(elements.count));
        }
        let node = |(place, value): (usize, &'a RawValue)| Node {
            path: format!("{}[{place}]", self.path),
            raw: value.get(),
        };
        Ok(elements.list.into_iter().enumerate().map(node).collect())
    }

    fn numbers(&self) -> Result<Vec<f64>, ModelError> {
        self.array()?.iter().map(Node::number).collect()
    }

    fn pair(&self) -> Result<[f64; 2], ModelError> {
        <[f64; 2]>::try_from(self.numbers()?).map_err(|_| self.wrong("a pair of numbers"))
    }

    fn text(&self) -> Result<String, ModelError> {
        self.parse("a string")
    }

    fn boolean(&self) -> Result<bool, ModelError> {
        self.parse("true or false")
    }

    /// A truth value as the Python tools write it.
    fn quoted_boolean(&self) -> Result<bool, ModelError> {
        match self.text()?.as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.wrong("\"true\" or \"false\"")),
        }
    }

    fn number(&self) -> Result<f64, ModelError> {
        // Only a JSON number can be here that Rust reads as one: `nan` and `inf` are no JSON.
        finite(self.raw).ok_or_else(|| self.wrong("a finite number"))
    }

    fn option_text(&self) -> Result<String, ModelError> {
        match self.raw.as_bytes().first() {
            Some(b'"') => self.text(),
            Some(b't' | b'f' | b'-' | b'0'..=b'9') => Ok(self.raw.to_owned()),
            _ => Err(self.wrong("a number, a string, true or false")),
        }
    }

    fn parse<T: Deserialize<'a>>(&self, wanted: &str) -> Result<T, ModelError> {
        serde_json::from_str(self.raw).map_err(|_| self.wrong(wanted))
    }

    fn too_many(&self, count: usize) -> ModelError {
        let key = if self.path.is_empty() {
            "the document"
        } else {
            &self.path
        };
        ModelError::TooMany {
            key: key.to_owned(),
            count,
            limit: MAX_ENTRIES,
        }
    }
}

/// An object without duplicate keys, in file order.
struct Object<'a> {
    path: String,
    list: Vec<(String, Node<'a>)>,
}

impl<'a> Object<'a> {
    fn find(&self, name: &str) -> Option<&Node<'a>> {
        self.list
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, node)| node)
    }

    fn get(&self, name: &str) -> Result<&Node<'a>, ModelError> {
        self.find(name).ok_or_else(|| ModelError::Missing {
            key: match self.path.as_str() {
                "" => name.to_owned(),
                path => format!("{path}.{name}"),
            },
        })
    }
}

/// Most entries of an object or array that is read; more are counted, not kept.
const MAX_ENTRIES: usize = 2 * MAX_MEMBERS;

struct Entries<'a> {
    list: Vec<(String, &'a RawValue)>,
    count: usize,
}

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> Visitor<'de> for Walk {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Entries {
                    list: Vec::new(),
                    count: 0,
                };
                while entries.count < MAX_ENTRIES {
                    let Some(entry) = map.next_entry()? else {
                        return Ok(entries);
                    };
                    entries.list.push(entry);
                    entries.count += 1;
                }
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    entries.count += 1;
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(Walk)
    }
}

struct Elements<'a> {
    list: Vec<&'a RawValue>,
    count: usize,
}

impl<'de: 'a, 'a> Deserialize<'de> for Elements<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> Visitor<'de> for Walk {
            type Value = Elements<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut sequence: A,
            ) -> Result<Self::Value, A::Error> {
                let mut elements = Elements {
                    list: Vec::new(),
                    count: 0,
                };
                while elements.count < MAX_ENTRIES {
                    let Some(element) = sequence.next_element()? else {
                        return Ok(elements);
                    };
                    elements.list.push(element);
                    elements.count += 1;
                }
                while sequence.next_element::<IgnoredAny>()?.is_some() {
                    elements.count += 1;
                }
                Ok(elements)
            }
        }
        deserializer.deserialize_seq(Walk)
    }
}
