//go:build !unix

package main

import "os"

// snapshotSignal takes a snapshot. There is none here.
var snapshotSignal os.Signal
