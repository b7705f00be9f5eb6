//! The HIP backend.
