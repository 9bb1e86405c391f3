package bagfmt

import "io"

// ScannerOptions limits what a Scanner does. The zero value is ready to use.
type ScannerOptions struct {
	MaxChunkBytes int64 // largest chunk, stored or unpacked; zero means 256 MiB, more than 2 GiB - 1 is refused
	FutureVersion bool  // read any version 2.x as if it were 2.0
}

// Scanner reads a bag from front to back.
type Scanner struct{}

func NewScanner(r io.Reader, o ScannerOptions) (*Scanner, error) { panic("todo") }
func (s *Scanner) Next() (*Message, error)                       { panic("todo") }
func (s *Scanner) Connections() []*Connection                    { panic("todo") }
func (s *Scanner) Offset() int64                                 { panic("todo") }
