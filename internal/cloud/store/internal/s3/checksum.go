package s3

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"net/http"
	"strings"
)

// algorithm is what parts of an upload are checked with: the file is read to compute it anyway.
const algorithm = "CRC32C"

// checksumHeader is the header of algorithm.
const checksumHeader = "X-Amz-Checksum-Crc32c"

// crc32c returns the value of checksumHeader.
func crc32c(sum uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// nvme is the polynomial of CRC64NVME, reversed.
const nvme = 0x9a6c9329ac4bc9b5

// verified returns a body whose end is an error if it does not match the checksum that the store has of
// the object. The checksum of an object in parts, which has a hyphen, is not that of its content.
func verified(body io.ReadCloser, h http.Header) io.ReadCloser {
	for name, newSum := range map[string]func() hash.Hash{
		"Crc32c":    func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) },
		"Crc32":     func() hash.Hash { return crc32.NewIEEE() },
		"Crc64nvme": func() hash.Hash { return crc64.New(crc64.MakeTable(nvme)) },
		"Sha256":    sha256.New,
	} {
		want := h.Get("X-Amz-Checksum-" + name)
		if want != "" && !strings.Contains(want, "-") {
			return &verifiedBody{body, newSum(), strings.ToUpper(name), want}
		}
	}
	return body
}

type verifiedBody struct {
	io.ReadCloser
	sum        hash.Hash
	name, want string
}

// Read implements io.Reader.
func (v *verifiedBody) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.sum.Write(p[:n]) // a hash takes everything
	if errors.Is(err, io.EOF) {
		if got := base64.StdEncoding.EncodeToString(v.sum.Sum(nil)); got != v.want {
			err = fmt.Errorf("checksum did not match: algorithm %s, expect %s, actual %s", v.name, v.want, got)
		}
	}
	return n, err
}
