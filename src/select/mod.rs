//! STUB
#![allow(missing_docs)]
pub mod names;
/// stub
pub mod pattern { /// m
 pub fn matches(_p: &crate::plan::Pattern, _n: &[u8]) -> bool { true } }
use crate::member::*; use crate::plan::*;
#[derive(Debug)] pub struct Chosen { pub name: Vec<u8>, pub link: Vec<u8>, pub directory: usize, pub removed_prefix: Vec<u8>, pub removed_link_prefix: Vec<u8> }
#[derive(Debug)] pub enum Choice { Skip, Take(Chosen) }
#[derive(Debug)] pub struct Selector;
impl Selector { pub fn new(_: &Selection) -> Self { Self } pub fn finished(&self) -> bool { false } pub fn unmatched(&self) -> Vec<&Wanted> { vec![] }
 pub fn choose(&mut self, m: &Member) -> Choice { Choice::Take(Chosen { name: m.name.clone(), link: m.link.clone(), directory: 0, removed_prefix: vec![], removed_link_prefix: vec![] }) } }
