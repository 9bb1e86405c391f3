package wire

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"

	"github.com/gorosbag/gorosbag/internal/ros/fields"
	"github.com/gorosbag/gorosbag/rosbag"
)

// In a bag of stock's AES encryptor the data of chunks and both parts, header and data, of
// the connection records in the index section are encrypted, each for itself: 16 bytes of
// initialization vector, then AES in CBC mode with the padding of PKCS #7. The key is in the
// bag header, in an OpenPGP message. All else is plain: lengths, times, counts, index data.
// A chunk that was open when its writer was killed is plain, too.

// AESEncryptor is the one encryptor of stock that encrypts.
const AESEncryptor = "rosbag/AesCbcEncryptor"

// Keys of a bag header about encryption, beside keyEncryptor.
const (
	keyEncryptedKey = "encrypted_key"
	keyGPGUser      = "gpg_user"
)

var (
	errNoWrappedKey = errors.New("the bag header has no encrypted_key")
	errPadding      = errors.New("wrong padding of encrypted data: it is damaged, or was encrypted with another key")
)

// ParseEncryption returns what header, that of a bag header, says; nil if the bag is not
// encrypted. Other encryptors than stock's do not count: rosbag/NoEncryptor is what it says,
// and rosbag's Python API reads bags of encryptors that it does not know as plain ones.
func ParseEncryption(header []byte) *rosbag.Encryption {
	var e rosbag.Encryption
	for len(header) > 0 {
		key, value, rest, err := fields.Next(header)
		if err != nil {
			return nil // no header that was parsed
		}
		switch string(key) { // the last of repeated fields counts, as for RecordHeader
		case keyEncryptor:
			e.Encryptor = string(value)
		case keyGPGUser:
			e.User = string(value)
		case keyEncryptedKey:
			e.WrappedKey = bytes.Clone(value)
		}
		header = rest
	}
	if e.Encryptor != AESEncryptor {
		return nil
	}
	return &e
}

// Decrypter decrypts what is encrypted in one bag. A nil *Decrypter is that of a plain bag.
// It may be used by several goroutines.
type Decrypter struct {
	about rosbag.Encryption
	block cipher.Block
}

// NewDecrypter returns the Decrypter of the bag that about describes, nil if about is nil.
func NewDecrypter(
	about *rosbag.Encryption, unwrap func(rosbag.Encryption) ([]byte, error),
) (*Decrypter, error) {
	switch {
	case about == nil:
		return nil, nil // a plain bag has none
	case unwrap == nil:
		return nil, &rosbag.EncryptedError{Encryption: *about}
	case len(about.WrappedKey) == 0:
		return nil, &rosbag.EncryptedError{Encryption: *about, Err: errNoWrappedKey}
	}
	key, err := unwrap(*about)
	if err != nil {
		return nil, &rosbag.EncryptedError{Encryption: *about, Err: err}
	}
	defer clear(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, &rosbag.EncryptedError{
			Encryption: *about,
			Err:        fmt.Errorf("a key of %d bytes was unwrapped, want 16", len(key)),
		}
	}
	return &Decrypter{*about, block}, nil
}

// Encryption returns what the bag says about itself, nil if it is plain.
func (d *Decrypter) Encryption() *rosbag.Encryption {
	if d == nil {
		return nil
	}
	return &d.about
}

// checkSealed checks the length of encrypted data.
func checkSealed(n int64) error {
	if n < 2*aes.BlockSize || n%aes.BlockSize != 0 {
		return fmt.Errorf("encrypted data of %d bytes, want a multiple of %d, %d or more", n, aes.BlockSize,
			2*aes.BlockSize)
	}
	return nil
}

// open decrypts sealed in place, and returns the data without what encryption adds.
func (d *Decrypter) open(sealed []byte) ([]byte, error) {
	if err := checkSealed(int64(len(sealed))); err != nil {
		return nil, err
	}
	data := d.openTorn(sealed)
	pad := int(data[len(data)-1])
	if pad == 0 || pad > aes.BlockSize {
		return nil, errPadding
	}
	end := len(data) - pad
	for _, b := range data[end:] {
		if int(b) != pad {
			return nil, errPadding
		}
	}
	return data[:end:end], nil
}

// openTorn is open for encrypted data whose end may be missing: it takes nothing for padding.
func (d *Decrypter) openTorn(sealed []byte) []byte {
	n := len(sealed) / aes.BlockSize * aes.BlockSize
	if n < 2*aes.BlockSize {
		return nil
	}
	data := sealed[aes.BlockSize:n:n]
	cipher.NewCBCDecrypter(d.block, sealed[:aes.BlockSize]).CryptBlocks(data, data)
	return data
}

// openHeader decrypts sealed, the header of a record, in place and parses it into h, whose
// slices share its memory. It reports false if that is not the encrypted header of a
// connection record.
func (d *Decrypter) openHeader(sealed []byte, h *RecordHeader) bool {
	if d == nil {
		return false
	}
	plain, err := d.open(sealed)
	if err != nil || h.Parse(plain) != nil || h.Op != rosbag.OpConnection {
		return false
	}
	h.sealed = true
	return true
}

// OpenConnection returns the connection header in data, which is that of the record at start
// with header h. It decrypts it in place if the record is encrypted.
func (d *Decrypter) OpenConnection(h *RecordHeader, data []byte, start int64) ([]byte, error) {
	if !h.sealed {
		return data, nil
	}
	plain, err := d.open(data)
	if err != nil {
		return nil, Corrupt(start, rosbag.OpConnection, "%v", err)
	}
	return plain, nil
}

// OpenChunk decrypts the stored data of the chunk at p in place.
func (d *Decrypter) OpenChunk(p *ChunkPlace, stored []byte) ([]byte, error) {
	switch {
	case d == nil:
		return stored, nil
	case p.Torn:
		return d.openTorn(stored), nil
	}
	plain, err := d.open(stored)
	switch {
	case err == nil:
		return plain, nil
	case errors.Is(err, errPadding) && p.Compression == rosbag.CompressionNone:
		// Damage at the end costs no more than the last record, which will not be readable, as
		// in a plain chunk without a checksum.
		return stored[aes.BlockSize:], nil
	}
	return nil, Corrupt(p.Pos, rosbag.OpChunk, "%v", err)
}
