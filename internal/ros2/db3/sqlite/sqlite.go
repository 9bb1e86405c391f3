// Package sqlite has package db3 read and write databases: a program that does so imports it, and no
// other links SQLite.
package sqlite

import (
	"modernc.org/sqlite" // registers itself as a driver of database/sql, too

	"github.com/gorosbag/gorosbag/internal/ros2/db3"
)

var _ = db3.Use(sqlite.Limit)
