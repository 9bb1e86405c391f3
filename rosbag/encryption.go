package rosbag

import "fmt"

// Encryption is what an encrypted bag says about itself.
type Encryption struct {
	Encryptor  string // rosbag/AesCbcEncryptor
	User       string // who the key is wrapped for: the name in a GPG key; untrusted, may be empty
	WrappedKey []byte // the AES key in an OpenPGP message, binary or armored; untrusted
}

// EncryptedError says that a bag is encrypted and there is no key for it. It matches
// ErrEncrypted.
type EncryptedError struct {
	Encryption
	Err error // what UnwrapKey returned, or what is wrong with the key; nil if there is no UnwrapKey
}

// Error implements error.
func (e *EncryptedError) Error() string {
	s := fmt.Sprintf("%v: its messages and topics need the GPG key of %.80q (%s)", ErrEncrypted, e.User,
		e.Encryptor)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Is reports whether target is ErrEncrypted.
func (e *EncryptedError) Is(target error) bool { return target == ErrEncrypted }

// Unwrap returns the cause.
func (e *EncryptedError) Unwrap() error { return e.Err }
