// Package bzip2 unpacks bzip2 streams, at more than twice the speed of github.com/dsnet/compress,
// which packs them, and without its slow paths for trees with holes (ADR 0092). The tests compare
// with that library, with the standard one and with libbz2.
//
// Data that is wrong costs time in proportion to its size, or to that of what it unpacks
// to, and memory for the block that is really there.
package bzip2
