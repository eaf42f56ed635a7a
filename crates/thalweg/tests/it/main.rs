//! Integration tests of `thalweg`, in one program: it is linked once.

mod answers;
mod assess;
mod calls;
mod children;
mod command;
mod hunt;
mod impairments;
mod outside;
mod paper;
mod report;
mod sweep;
mod view;
