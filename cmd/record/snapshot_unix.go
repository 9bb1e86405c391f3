//go:build unix

package main

import (
	"os"
	"syscall"
)

// snapshotSignal takes a snapshot.
var snapshotSignal os.Signal = syscall.SIGUSR1
