//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorosbag/gorosbag/tcpros"
)

// The plain copy is this program once more: bench copy <address> <file> <sync>. It
// subscribes at the address and copies what the socket gives into the file.
const (
	copyCommand   = "copy"
	copySynced    = "interval"
	copyUnsynced  = "none"
	copyBuffer    = 1 << 20
	copySyncBytes = 32 << 20 // as gorecord --sync interval
)

// copyStream is the least that any recorder has to do: a read and a write for each
// MiB. With sync it also makes the file durable as gorecord does, on another thread
// each 32 MiB, and lets the kernel forget the pages.
func copyStream(address, path string, sync bool) error {
	conn, err := net.Dial("tcp", address) //nolint:noctx // ends with the process
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing is written
	if _, err := conn.Write(tcpros.AppendHeader(nil, tcpros.Header{{Key: "callerid", Value: "/copy"}})); err != nil {
		return err
	}
	if _, err := tcpros.ReadHeader(conn); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	due, synced := make(chan struct{}, 1), make(chan error, 1)
	// owner: copyStream; ends when due is closed.
	go func() {
		var err error
		for range due {
			err = errors.Join(err, durable(f))
		}
		synced <- err
	}()
	err = copyBytes(f, conn, func() {
		if !sync {
			return
		}
		select {
		case due <- struct{}{}:
		default: // one is about to begin
		}
	})
	close(due)
	err = errors.Join(err, <-synced)
	if sync {
		err = errors.Join(err, durable(f))
	}
	return errors.Join(err, f.Close())
}

// copyBytes copies to the end and tells of each copySyncBytes. It fills its buffer
// before it writes: a recorder writes chunks, not what a socket happens to hold.
func copyBytes(f *os.File, conn net.Conn, due func()) error {
	buf := make([]byte, copyBuffer)
	for written := 0; ; {
		n, err := io.ReadFull(conn, buf)
		if _, err := f.Write(buf[:n]); err != nil {
			return err
		}
		if written += n; written >= copySyncBytes {
			written = 0
			due()
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func durable(f *os.File) error {
	if err := unix.Fdatasync(int(f.Fd())); err != nil {
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// plainCopy measures the copy of one stream.
func (b *bench) plainCopy(ctx context.Context, s scenario) (_ result, err error) {
	self, err := os.Executable()
	if err != nil {
		return result{}, err
	}
	r, err := b.prepare(ctx, s.streams())
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, r.remove()) }()
	mode := copySynced
	if s.unsynced {
		mode = copyUnsynced
	}
	file := filepath.Join(r.dir, "stream")
	if err := r.start(ctx, self, copyCommand, r.flow.pubs[0].Address(), file, mode); err != nil {
		return result{}, err
	}
	if err := r.flow.send(ctx); err != nil {
		return result{}, err
	}
	use, err := r.wait()
	took := time.Since(r.flow.begun)
	if err != nil {
		return result{}, err
	}
	st, err := os.Stat(file)
	if err != nil {
		return result{}, err
	}
	if want := int64(s.count) * int64(4+s.size); st.Size() != want {
		return result{}, fmt.Errorf("the plain copy has %d of %d bytes", st.Size(), want)
	}
	return result{usage: use, sent: s.count, recorded: s.count, bytes: int64(s.count) * int64(s.size), took: took}, nil
}

// besideUnsynced is beside without waiting for the disk, and says how fast that is.
func (s scenario) besideUnsynced(ctx context.Context, b *bench, t *table) error {
	speed, err := diskSpeed(b.dir)
	if err != nil {
		return err
	}
	if err := s.beside(ctx, b, t); err != nil {
		return err
	}
	t.note("the disk alone, fdatasync each %d MiB: %.0f MB/s", copySyncBytes>>20, speed/1e6)
	return nil
}

// diskSpeed writes and syncs 32 MiB at a time, and returns bytes per second.
func diskSpeed(dir string) (float64, error) {
	f, err := os.Create(filepath.Join(dir, "disk"))
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // in our temporary directory
	defer f.Close()           //nolint:errcheck // nothing in it is wanted
	block := make([]byte, copySyncBytes)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range block {
		block[i] = byte(random.Uint32())
	}
	const blocks = 16
	start := time.Now()
	for range blocks {
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := durable(f); err != nil {
			return 0, err
		}
	}
	return blocks * copySyncBytes / time.Since(start).Seconds(), nil
}
