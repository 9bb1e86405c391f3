// Package bagfile creates, syncs, closes and names the bag files of one recording.
//
// Each type has its own lock or a single owner, and none is held while the disk is asked
// for long. Nothing here knows of topics or messages.
package bagfile
