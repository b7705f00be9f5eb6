//! Takes in the device code, if it was built.

#[path = "../gpu/build/embed.rs"]
mod embed;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    embed::embed("hip")
}
