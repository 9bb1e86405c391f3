package put

import (
	"context"
	"crypto/md5" //nolint:gosec // stores verify uploads with it; not for security
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"

	"github.com/gorosbag/gorosbag/internal/cloud/store/place"
)

// Limits of multipart uploads. S3 accepts 10,000 parts of at least 5 MiB.
const (
	MinPartBytes = 8 << 20
	maxParts     = 9_000
)

// Sums are the checksums of a file to upload.
type Sums struct {
	Size      int64
	SHA256    string // in hexadecimal, as in the metadata of the object
	partBytes int64
	parts     []partSums // one for each part of a multipart upload, otherwise one for the whole file
}

// partSums are the checksums of a part: the MD5 that stores use, and a fast CRC to detect
// changes of the file.
type partSums struct {
	md5 [md5.Size]byte
	crc uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// PartBytes returns the length of the parts of a file. It depends on the size only, so that
// any later process can resume an upload.
func PartBytes(size int64) int64 {
	part := max(MinPartBytes, size/maxParts)
	return (part + 1<<20 - 1) >> 20 << 20
}

// Sum computes the checksums of a file that is sent in parts of partBytes.
func Sum(ctx context.Context, r io.ReaderAt, size, partBytes int64) (Sums, error) {
	s := Sums{Size: size, partBytes: partBytes}
	sha, part, crc := sha256.New(), md5.New(), uint32(0) //nolint:gosec // see above
	buf := make([]byte, 1<<20)
	for at := int64(0); ; {
		if at == size || at > 0 && at%s.partBytes == 0 {
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
		left := min(size-at, s.partBytes-at%s.partBytes)
		n, err := r.ReadAt(buf[:min(int64(len(buf)), left)], at)
		if n == 0 || err != nil && !errors.Is(err, io.EOF) {
			return s, fmt.Errorf("at %d: %w", at+int64(n), truncated(err))
		}
		sha.Write(buf[:n]) // a hash takes everything
		part.Write(buf[:n])
		crc = crc32.Update(crc, castagnoli, buf[:n])
		at += int64(n)
	}
	s.SHA256 = hex.EncodeToString(sha.Sum(nil))
	return s, nil
}

// WholeMD5 returns the MD5 of a file that is not uploaded in parts, nil for others.
func (s *Sums) WholeMD5() []byte {
	if len(s.parts) != 1 {
		return nil
	}
	return s.parts[0].md5[:]
}

// Parts returns the number of parts.
func (s *Sums) Parts() int { return len(s.parts) }

// PartMD5 returns the MD5 of part n.
func (s *Sums) PartMD5(n int) [md5.Size]byte { return s.parts[n].md5 }

// PartCRC returns the CRC32C of part n.
func (s *Sums) PartCRC(n int) uint32 { return s.parts[n].crc }

// PartLength returns the length of part n.
func (s *Sums) PartLength(n int) int64 { return min(s.partBytes, s.Size-int64(n)*s.partBytes) }

// ReadPart reads part n into buf, which it allocates if it is nil, and verifies its checksum.
func (f *File) ReadPart(n int, buf []byte) ([]byte, error) {
	if buf == nil {
		buf = make([]byte, f.partBytes)
	}
	buf = buf[:f.PartLength(n)]
	if m, err := f.ReadAt(buf, int64(n)*f.partBytes); m < len(buf) {
		return nil, truncated(err)
	}
	if crc32.Checksum(buf, castagnoli) != f.parts[n].crc {
		return nil, place.ErrChanged
	}
	return buf, nil
}

// truncated converts an early end of the file to place.ErrChanged.
func truncated(err error) error {
	if errors.Is(err, io.EOF) {
		return place.ErrChanged
	}
	return err
}

// ETag returns the ETag that S3 gives to a multipart upload.
func (s *Sums) ETag() string {
	h := md5.New() //nolint:gosec // see above
	for _, p := range s.parts {
		h.Write(p.md5[:]) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil)) + "-" + strconv.Itoa(len(s.parts))
}

// CheckedReader returns r, a reader of the whole file, with an end that is place.ErrChanged if the file has
// changed since Sum. Sum has made one part.
func (s *Sums) CheckedReader(r io.Reader) io.Reader {
	return &checkedReader{r: r, want: s.parts[0].crc}
}

type checkedReader struct {
	r    io.Reader
	crc  uint32
	want uint32
}

// Read implements io.Reader.
func (c *checkedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.crc = crc32.Update(c.crc, castagnoli, p[:n])
	if errors.Is(err, io.EOF) && c.crc != c.want {
		err = place.ErrChanged
	}
	return n, err
}
