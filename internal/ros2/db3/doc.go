// Package db3 writes and reads the storage files of ROS 2 recordings that rosbag2 calls sqlite3:
// databases with the tables topics, messages and, since humble, schema and metadata.
//
// Files are written with schema 4, which foxy and later releases read. Files of foxy and later are read.
// A file may be damaged, or crafted to do harm: the package reads plain tables only, limits the size of
// values, and returns no more messages than the file has room for. Memory does not depend on the size of
// a file. The package decodes no message.
package db3

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"syscall"
)

// limiter sets a limit of SQLite on a connection; nil in programs without SQLite.
var limiter func(conn *sql.Conn, id, value int) (int, error)

// Use has the package work with a library of SQLite. Package sqlite calls it: the library is larger than
// what most programs need of ours, so they import it by name.
func Use(limit func(conn *sql.Conn, id, value int) (int, error)) bool {
	limiter = limit
	return true
}

// ErrNoSQLite means that the program has no SQLite.
var ErrNoSQLite = errors.New("this program does not read databases of ROS 2: convert the recording with gobag convert")

// MaxMessageBytes is the size of the largest message: a row of SQLite has at most 1e9 bytes.
const MaxMessageBytes = 999_999_000

// database is an open file. SQLite runs one statement at a time on its one connection.
type database struct {
	db   *sql.DB
	conn *sql.Conn
}

// open opens the database at path with parameters of SQLite's URIs.
func open(ctx context.Context, path string, parameters url.Values) (*database, error) {
	if limiter == nil {
		return nil, ErrNoSQLite
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(abs), RawQuery: parameters.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(explain(err), db.Close())
	}
	return &database{db, conn}, nil
}

// run runs statements that return nothing.
func (d *database) run(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := d.conn.ExecContext(ctx, s); err != nil {
			return explain(err)
		}
	}
	return nil
}

func (d *database) close() error {
	return errors.Join(d.conn.Close(), d.db.Close())
}

// Limits of SQLite.
const (
	limitLength        = 0
	limitAttached      = 7
	limitWorkerThreads = 11
)

// Result codes of SQLite, without the extended part.
const (
	codeReadOnly = 8
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeTooBig   = 18
	codeNotADB   = 26
)

// explain converts errors of SQLite to ours.
func explain(err error) error {
	var e interface {
		error
		Code() int
	}
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case codeFull:
		return syscall.ENOSPC
	case codeCorrupt:
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case codeTooBig:
		return fmt.Errorf("%w: a value is longer than the limit", ErrCorrupt)
	case codeNotADB:
		return ErrNotDatabase
	case codeReadOnly, codeCantOpen:
		return fmt.Errorf("%w (a recorder that crashed left a journal beside the file, and reading it needs the right to write into its directory; copy both files to another directory)", err)
	}
	return err
}

// ErrCorrupt means that a database is damaged.
var ErrCorrupt = errors.New("damaged database")

// ErrForeign means that a database, which is sound as far as it was read, is no recording of ROS 2.
var ErrForeign = errors.New("has no tables topics and messages as a recording of ROS 2 has: a database of another program?")

// ErrNotDatabase means that a file is no database of SQLite, or an encrypted one.
var ErrNotDatabase = errors.New("not a database of SQLite")
