// SPDX-License-Identifier: MIT
// The size and position of an element on the page.

import { useEffect, useState, type RefObject } from "react";

/** True while the element is in view, or less than half a screen away. */
export function useInView(element: RefObject<HTMLElement | null>): boolean {
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (!element.current) return undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        setSeen(entries.some((entry) => entry.isIntersecting));
      },
      { rootMargin: "50% 0px" },
    );
    observer.observe(element.current);
    return () => {
      observer.disconnect();
    };
  }, [element]);
  return isSeen;
}

/** The width inside of the element's border in CSS pixels; 0 before it is known. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!element.current) return undefined;
    const observer = new ResizeObserver((entries) => {
      setWidth(Math.floor(entries[0]?.contentRect.width ?? 0));
    });
    observer.observe(element.current);
    return () => {
      observer.disconnect();
    };
  }, [element]);
  return width;
}
