//! A simulated GPU under the HIP runtime's names.

#![allow(unsafe_code)] // the HIP runtime is a C interface; every block says why it holds

pub mod blocks;
