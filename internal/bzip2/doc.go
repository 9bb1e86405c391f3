// Package bzip2 packs and unpacks bzip2 streams. Both are ours: the standard library has no
// packer, and on sensor data ours is faster than that of github.com/dsnet/compress (ADR 29),
// which unpacks at less than half the speed of ours (ADR 71). The tests compare with both
// libraries.
//
// Data that is wrong costs time in proportion to its size, or to that of what it unpacks
// to, and memory for the block that is really there.
package bzip2
