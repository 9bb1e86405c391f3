//go:build linux

package child

import (
	"errors"
	"io"
	"net"
	"os"
)

// sendFile sends a file to an address. It is the least that a player has to do: a read and a write for
// each MiB.
func sendFile(address, path string) (err error) {
	conn, err := net.Dial("tcp", address) //nolint:noctx // ends with the process
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	buf := make([]byte, CopyBuffer)
	for {
		n, err := f.Read(buf)
		if errors.Is(err, io.EOF) {
			return conn.Close()
		}
		if err != nil {
			return err
		}
		if _, err := conn.Write(buf[:n]); err != nil {
			return err
		}
	}
}
