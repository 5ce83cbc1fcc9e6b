/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that can be preloaded anywhere and does nothing. */
extern int golden_empty;
int golden_empty = 0;
