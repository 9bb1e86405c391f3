package store

import (
	"context"
	"crypto/md5" //nolint:gosec // what stores compare uploads with; not for security
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
)

// Bounds of multipart uploads. S3 takes 10,000 parts of 5 MiB or more.
const (
	leastPart = 8 << 20
	mostParts = 9_000
)

// Sums are the checksums of a file that is to be uploaded.
type Sums struct {
	Size   int64
	SHA256 string // in hexadecimal, as it stands in the metadata of the object
	part   int64
	parts  []partSums // in which it is uploaded; a single one where that is not in parts
}

// partSums are the checksums of a part: one that stores know, and one that is quick, to
// see that the file is still what it was.
type partSums struct {
	md5 [md5.Size]byte
	crc uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// partBytes returns how long the parts of a file are. It depends on the size only, so
// that an upload can be taken up after years.
func partBytes(size int64) int64 {
	part := max(leastPart, size/mostParts)
	return (part + 1<<20 - 1) >> 20 << 20
}

// Sum reads a file of size bytes and computes the checksums that Put needs.
func (b *Bucket) Sum(ctx context.Context, r io.ReaderAt, size int64) (Sums, error) {
	s := Sums{Size: size, part: size}
	if b.sender != nil {
		s.part = partBytes(size)
	}
	sha, part, crc := sha256.New(), md5.New(), uint32(0) //nolint:gosec // see above
	buf := make([]byte, 1<<20)
	for at := int64(0); ; {
		if at == size || at > 0 && at%s.part == 0 {
			s.parts = append(s.parts, partSums{[md5.Size]byte(part.Sum(nil)), crc})
			part.Reset()
			crc = 0
		}
		if at == size {
			break
		}
		if err := ctx.Err(); err != nil {
			return s, err
		}
		left := min(size-at, s.part-at%s.part)
		n, err := r.ReadAt(buf[:min(int64(len(buf)), left)], at)
		if n == 0 || err != nil && !errors.Is(err, io.EOF) {
			return s, fmt.Errorf("store: at %d: %w", at+int64(n), shrunk(err))
		}
		sha.Write(buf[:n]) // a hash takes everything
		part.Write(buf[:n])
		crc = crc32.Update(crc, castagnoli, buf[:n])
		at += int64(n)
	}
	s.SHA256 = hex.EncodeToString(sha.Sum(nil))
	return s, nil
}

// whole returns the MD5 of a file that is not uploaded in parts.
func (s *Sums) whole() []byte {
	if len(s.parts) != 1 {
		return nil
	}
	return s.parts[0].md5[:]
}

// shrunk takes the end of a file before its size for a change.
func shrunk(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrChanged
	}
	return err
}

// etag returns what S3 names an object that was uploaded in parts.
func (s *Sums) etag() string {
	h := md5.New() //nolint:gosec // see above
	for _, p := range s.parts {
		h.Write(p.md5[:]) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil)) + "-" + strconv.Itoa(len(s.parts))
}
