package main

import "syscall"

// mountSmall mounts an empty file system of 4 MiB.
func mountSmall(dir string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m")
}

func unmount(dir string) error { return syscall.Unmount(dir, 0) }
