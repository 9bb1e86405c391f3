// Package disk has what bags need of the operating system: an open directory, files that are synced,
// reserved and locked, the free space, and a watchdog that notices a disk that does not answer. It
// knows nothing of bags but how their names end.
//
// Each type is for concurrent use; no lock is held during I/O.
package disk
