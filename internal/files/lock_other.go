//go:build !unix

package files

import "os"

// renamesOpen says that a file can be renamed while it is open.
const renamesOpen = false

// Lock returns true: this system has no locks that other processes would see.
func Lock(*os.File) bool { return true }

// lockKnown returns false: see Lock.
func lockKnown(*os.File) bool { return false }

// IsLocked returns false: see Lock.
func IsLocked(*os.File) bool { return false }
