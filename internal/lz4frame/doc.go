// Package lz4frame packs and unpacks lz4 frames. The frames of a bag's chunks have one
// shape, and a chunk is in memory as a whole. So they are packed and unpacked here block
// by block, without the copies and the state of a stream. Frames of other shapes, and
// damaged ones, are left to github.com/pierrec/lz4.
package lz4frame
