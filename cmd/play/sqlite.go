//go:build !nosqlite

package main

// plays databases of ROS 2; make demo does without.
import _ "github.com/gorosbag/gorosbag/internal/ros2/db3/sqlite"
