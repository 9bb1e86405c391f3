//go:build !nosqlite

package main

import _ "github.com/gorosbag/gorosbag/internal/ros2/db3/sqlite" // reads and writes databases of ROS 2; make demo does without
