/* SPDX-License-Identifier: BSD-3-Clause */
/* Needs the library that FAKE_CALL lies in. */
int FAKE_CALL(void);
int main(void) { return FAKE_CALL(); }
