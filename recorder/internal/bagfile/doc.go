// Package bagfile creates, syncs, closes and names the bag files of one recording. It knows nothing of topics
// and messages.
//
// Each type has a lock of its own or a single owner. No lock is held during I/O.
package bagfile
