// Package bagfmt reads and writes ROS bag files, format V2.0.
//
// A bag is a version line, a bag header, then chunks, each followed by the index
// of its messages, and at the end the index section: every connection record and
// one chunk info record for each chunk. All numbers are little endian.
//
//	Writer, ChunkBuilder   write a bag, or the chunks of one
//	Reader, Cursor         read a closed bag in time order, loading what is needed
//	Scanner                read any prefix of any bag from front to back, closed or not
//
// The package knows bytes only: it starts no goroutine, opens no file and logs
// nothing. Bags are untrusted: each length is compared with what is left before
// anything is allocated or sliced, and a fault is a typed error with the offset of
// the damaged record.
package bagfmt
