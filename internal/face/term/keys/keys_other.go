//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

// Package keys reads single key presses from standard input. On this system it
// reads none.
package keys

import (
	"context"
	"os"
)

// Watch returns at once.
func Watch(context.Context, *os.File, func(Key), func() bool) error { return nil }

// Foreground says that the terminal is ours.
func Foreground(*os.File) bool { return true }

// Stops returns at once: programs are not stopped here.
func Stops(context.Context, func(), func()) {}

// Resizes returns at once: there is no such signal here.
func Resizes(context.Context, func()) {}

// Quits returns at once: there is no such signal here.
func Quits(context.Context, func()) {}
