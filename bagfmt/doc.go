// Package bagfmt reads ROS bag files of every version and writes format V2.0.
//
// A 2.0 bag is a version line, a bag header, then chunks, each followed by the index
// of its messages, and at the end the index section: every connection record and
// one chunk info record for each chunk. All numbers are little endian.
//
//	Writer, chunk.Builder   write a bag, or the chunks of one
//	Append                  add to a bag that is closed
//	Reader                  read a bag in time order, loading what is needed: a rosbag.Source
//	Scanner                 read any prefix of any bag from front to back, closed or not, also from a pipe
//	recovery.Recover        copy what is good of a damaged bag
//	rosbag.Sequence         read many bags as one
//
// Reader and Scanner read MCAP files, too. Bags that stock has encrypted are read with their key, see
// ReaderOptions.UnwrapKey. They are not written.
//
// The package knows bytes only: it opens no file, logs nothing, and starts goroutines
// only where an option named Workers asks for them: to seal chunks of a Writer, and to
// unpack those that a rosbag.Cursor will come to. Messages, errors and their
// order, and the bytes of a file, do not depend on it.
//
// Bags are untrusted: each length is compared with what is left before
// anything is allocated or sliced, and a fault is a typed error with the offset of
// the damaged record.
package bagfmt
