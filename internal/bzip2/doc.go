// Package bzip2 packs and unpacks bzip2 streams. The packer is ours: the standard library
// has none, and on sensor data it is faster than that of github.com/dsnet/compress. Data
// is unpacked by dsnet's decoder, which is fast, unless the data was made to keep that one
// busy: then by the decoder of the standard library.
package bzip2
