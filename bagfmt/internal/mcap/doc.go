// Package mcap has the records of MCAP files: how they are laid out, the connections that schemas
// and channels make, and the frames in the data of a chunk. It does no I/O and has no state beyond
// the channels of one file. The packages of bagfmt that open, load and scan recordings use it.
//
// Decisions: ADR 0095.
package mcap
