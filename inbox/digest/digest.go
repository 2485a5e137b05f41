// Package digest computes SHA-256 (FIPS 180-4): for names of projects, for ids of messages, and for attached files.
//
// Use it for nothing secret. crypto/sha256 gives the same result, but it links Go's whole FIPS 140 module: 150 kB with self tests, which
// every hook would load and run. Programs that rarely start use crypto/sha256.
package digest

import (
	"encoding/binary"
	"math/bits"
)

// Size is the length of a sum in bytes.
const Size = 32

const block = 64

// Sum256 returns the sum of data.
func Sum256(data []byte) [Size]byte {
	d := New()
	d.Write(data)
	return d.Sum()
}

// Digest is an unfinished sum. It is an io.Writer.
type Digest struct {
	state [8]uint32
	rest  [block]byte // bytes that do not fill a block yet
	n     int         // how many bytes of rest are used
	size  uint64      // bytes of all data so far
}

// New starts a sum.
func New() *Digest {
	return &Digest{state: [8]uint32{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}}
}

// Write adds data. It does not fail.
func (d *Digest) Write(data []byte) (int, error) {
	size := len(data)
	d.size += uint64(size)
	if d.n > 0 {
		n := copy(d.rest[d.n:], data)
		d.n, data = d.n+n, data[n:]
		if d.n < block {
			return size, nil
		}
		d.add(d.rest[:])
		d.n = 0
	}
	for len(data) >= block {
		d.add(data[:block])
		data = data[block:]
	}
	d.n = copy(d.rest[:], data)
	return size, nil
}

// Sum returns the sum of all data written so far. The caller may then write more data.
func (d *Digest) Sum() (sum [Size]byte) {
	end := *d
	padding := [block + 8]byte{0x80}
	n := block - (end.n+8)%block
	binary.BigEndian.PutUint64(padding[n:], end.size*8)
	end.Write(padding[:n+8])
	for i, word := range end.state {
		binary.BigEndian.PutUint32(sum[i*4:], word)
	}
	return sum
}

// add hashes one block, as in section 6.2.2 of FIPS 180-4.
func (d *Digest) add(data []byte) {
	var w [64]uint32
	for i := range 16 {
		w[i] = binary.BigEndian.Uint32(data[i*4:])
	}
	for i := 16; i < 64; i++ {
		x, y := w[i-15], w[i-2]
		small := bits.RotateLeft32(x, -7) ^ bits.RotateLeft32(x, -18) ^ x>>3
		large := bits.RotateLeft32(y, -17) ^ bits.RotateLeft32(y, -19) ^ y>>10
		w[i] = w[i-16] + small + w[i-7] + large
	}
	s := &d.state
	a, b, c, d0, e, f, g, h := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
	for i := range 64 {
		t1 := h + (bits.RotateLeft32(e, -6) ^ bits.RotateLeft32(e, -11) ^ bits.RotateLeft32(e, -25)) + (e&f ^ ^e&g) + constants[i] + w[i]
		t2 := (bits.RotateLeft32(a, -2) ^ bits.RotateLeft32(a, -13) ^ bits.RotateLeft32(a, -22)) + (a&b ^ a&c ^ b&c)
		a, b, c, d0, e, f, g, h = t1+t2, a, b, c, d0+t1, e, f, g
	}
	for i, word := range [8]uint32{a, b, c, d0, e, f, g, h} {
		s[i] += word
	}
}

// constants are the values K of section 4.2.2 of FIPS 180-4.
var constants = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}
