// Package load reads one chunk of a bag at a time: where it is, its index and its data. A Loader
// keeps codecs and buffers from one chunk to the next.
//
// Decisions: ADR 0019.
package load
